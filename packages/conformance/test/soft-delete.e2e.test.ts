import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Injectable,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import { Exclude } from 'class-transformer';
import { Column, DeleteDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { describe, expect, it } from 'vitest';
import {
  ApiResource,
  BodyTypes,
  DtoOf,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
  Representation,
  RequestPrecondition,
  RequireScope,
  ResourceRepository,
  ServiceException,
  TextField,
} from '../../framework/src/index.js';
import type { Page, Precondition } from '../../framework/src/index.js';
import { errorsOf } from '../../framework/test/support/errors.js';
import {
  appOf,
  migrationOf,
  runningService,
} from '../../framework/test/support/running-service.js';
import { TOKEN } from '../../framework/test/support/tokens.js';
import { checks, TestedService } from '../src/index.js';
import type { OpenApiDocument } from '../src/index.js';

/* Drafts, whose ids clients choose. A removed draft keeps its id. */

const ERRORS = errorsOf({
  notFound: { number: 40489, message: 'there is no such draft', remedy: 'Check the id' },
  idTaken: { number: 40989, message: 'the id is taken', remedy: 'Choose another id' },
});

@Entity('drafts')
class Draft {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'What it says.', minLength: 1, maxLength: 20 })
  readonly text!: string;

  @Exclude()
  @DeleteDateColumn({ type: 'timestamptz', name: 'removed_at' })
  readonly removedAt!: Date | null;
}

class DraftDto extends DtoOf(Draft) {}
class NewDraftDto extends NewOf(Draft) {}
class DraftReplacementDto extends ReplacementOf(Draft) {}
@BodyTypes(...PATCH_TYPES)
class DraftPatchDto extends PatchOf(Draft) {}
@NoOtherParameters()
class ListDraftsDto extends ListOf(Draft) {}

@Injectable()
class DraftsRepository extends ResourceRepository(Draft, {
  name: 'drafts',
  dto: DraftDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.notFound),
  idTaken: () => new ServiceException(ERRORS.idTaken),
}) {}

@ApiResource({
  one: 'a draft',
  plural: 'drafts',
  dto: DraftDto,
  errors: { noSuch: ERRORS.notFound, idTaken: ERRORS.idTaken },
  examples: { create: { one: { summary: 'A draft', value: { id: 1, text: 'a' } } } },
})
@Controller('drafts')
class DraftsController {
  constructor(private readonly drafts: DraftsRepository) {}

  @Post()
  @HttpCode(200)
  @RequireScope('drafts:write')
  create(@Body() draft: NewDraftDto): Promise<DraftDto> {
    return this.drafts.create(draft);
  }

  @Get()
  @RequireScope('drafts:read')
  list(@Query() query: ListDraftsDto): Promise<Page<ListDraftsDto>> {
    return this.drafts.list(query);
  }

  @Get(':id')
  @RequireScope('drafts:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<DraftDto>> {
    return new Representation(await this.drafts.find(id));
  }

  @Put(':id')
  @RequireScope('drafts:write')
  replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() draft: DraftReplacementDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<DraftDto> {
    return this.drafts.replace(id, draft, { precondition });
  }

  @Patch(':id')
  @RequireScope('drafts:write')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: DraftPatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<DraftDto>> {
    return new Representation(await this.drafts.patch(id, patch, { precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('drafts:write')
  remove(@Param('id', Int64Pipe) id: bigint): Promise<void> {
    return this.drafts.remove(id);
  }

  @Post(':id/restore')
  @HttpCode(200)
  @RequireScope('drafts:write')
  async restore(@Param('id', Int64Pipe) id: bigint): Promise<Representation<DraftDto>> {
    return new Representation(await this.drafts.restore(id));
  }
}

const AppModule = appOf(
  [Draft],
  [
    migrationOf(
      'CREATE TABLE drafts (id bigint PRIMARY KEY, text text NOT NULL, removed_at timestamptz)',
    ),
  ],
  { controllers: [DraftsController], providers: [DraftsRepository] },
);

describe('a resource whose removed rows keep their ids', () => {
  const service = runningService(AppModule);

  it.each([true, false])(
    'passes, with the operation that restores them: %s',
    async (isRestorable) => {
      const { text } = await service.send('GET', '/openapi.json');
      const document = JSON.parse(text) as Writable<OpenApiDocument>;
      const { ['/drafts/{id}/restore']: restore, ...paths } = document.paths;
      expect(restore).toBeDefined();
      if (!isRestorable) document.paths = paths;
      const tested = new TestedService(document, { url: service.url, token: TOKEN, seed: 1 });
      const results = [];
      // The numbers of errors of a test are in no document.
      const wanted = checks(document).filter(({ name }) => !name.startsWith('errors:'));
      for (const check of wanted) results.push(await check.run(tested));
      expect(results.filter(({ outcome }) => outcome === 'fail')).toEqual([]);
      expect(results).toContainEqual({ name: 'rows of drafts: linearizable', outcome: 'pass' });
      const restored = results.filter(({ name }) => name.startsWith('restores of drafts'));
      expect(restored).toMatchObject(isRestorable ? [{ outcome: 'pass' }] : []);
      await tested.removeRows();
      const [{ removed } = {}] = await service.database.query(
        'SELECT count(*)::int AS removed FROM drafts WHERE removed_at IS NOT NULL',
      );
      expect(removed).toBeGreaterThan(0);
    },
  );
});

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] };
