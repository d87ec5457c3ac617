import { Body, Controller, Delete, Get, HttpCode, Injectable, Param, Post } from '@nestjs/common';
import { Patch, Put, Query } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ChangeOf, recordChanges } from '@resource-service/changes';
import { createChanges } from '@resource-service/changes/migrations';
import { Exclude } from 'class-transformer';
import { Column, DeleteDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import { PrimaryGeneratedColumn, Repository, VersionColumn } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  BodyTypes,
  DtoOf,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  IntegerField,
  isEqual,
  LinesFile,
  ListOf,
  NdjsonLines,
  NewOf,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
  Representation,
  RequestActor,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
  ResourceRepository,
  ServiceException,
  Sortable,
  startsWith,
  TextField,
  TIMESTAMP_COLUMN,
  TimestampField,
} from '../../src/index.js';
import type { Actor, Filled, BodyLine, Page, Precondition } from '../../src/index.js';
import { resourceMistakes } from '../../src/resources/resource-checks.js';
import { dataSourceFor } from '../support/data-source.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { appOf, runningService } from '../support/running-service.js';
import { createTestDatabase } from '../support/test-database.js';

/* Rows that a DELETE marks, and that can be restored. */

const ERRORS = errorsOf({
  nothing: { number: 40487, message: 'there is no such thing', remedy: 'Check the id' },
  nameTaken: { number: 40988, message: 'the name is taken', remedy: 'Choose another name' },
  idTaken: { number: 40989, message: 'the id is taken', remedy: 'Choose another id' },
});

@Index('tools_name_key', ['name'], { unique: true, where: 'removed_at IS NULL' })
@Entity('tools')
class Tool {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: Filled<bigint>;

  @Sortable()
  @Column('text')
  @TextField({ description: 'Its name.' })
  readonly name!: string;

  @VersionColumn({ type: 'integer' })
  @IntegerField({ minimum: 0, maximum: 1_000_000, description: 'Counts its changes.' })
  readonly version!: Filled<number>;

  @DeleteDateColumn({ ...TIMESTAMP_COLUMN, name: 'removed_at' })
  @Exclude()
  readonly removedAt!: Date | null;
}

const TOOL_FILTERS = { name: isEqual('name'), start: startsWith('name') } as const;

class ToolDto extends DtoOf(Tool) {}
class NewToolDto extends NewOf(Tool) {}
class ToolReplacementDto extends ReplacementOf(Tool) {}
@BodyTypes(...PATCH_TYPES)
class ToolPatchDto extends PatchOf(Tool) {}
class ListToolsDto extends ListOf(Tool, TOOL_FILTERS) {}

@Index('tool_changes_id_position_idx', ['id', 'position'])
@Entity('tool_changes')
class ToolChange extends ChangeOf(Tool) {}

@Injectable()
class ToolsRepository extends GeneratedIdRepository(Tool, {
  name: 'tools',
  dto: ToolDto,
  filters: TOOL_FILTERS,
  notFound: () => new ServiceException(ERRORS.nothing),
  constraints: { tools_name_key: ERRORS.nameTaken },
  changes: recordChanges(ToolChange, 'tool'),
}) {}

@Controller('tools')
class ToolsController {
  constructor(
    private readonly tools: ToolsRepository,
    @InjectRepository(Tool) private readonly rows: Repository<Tool>,
  ) {}

  @Post()
  @RequireScope('tools:write')
  create(@Body() tool: NewToolDto, @RequestActor() actor: Actor): Promise<ToolDto> {
    return this.tools.create(tool, { actor });
  }

  @Get()
  @RequireScope('tools:read')
  list(@Query() query: ListToolsDto): Promise<Page<ListToolsDto>> {
    return this.tools.list(query);
  }

  @Get('export')
  @RequireScope('tools:read')
  export(@RequestSignal() signal: AbortSignal): LinesFile {
    return new LinesFile(this.tools.export({}, signal), { endsInError: true });
  }

  @Get('typeorm')
  @RequireScope('tools:read')
  async findByTypeorm(): Promise<readonly ToolDto[]> {
    return (await this.rows.find()).map((tool) => this.tools.represent(tool));
  }

  @Get(':id')
  @RequireScope('tools:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<ToolDto>> {
    return new Representation(await this.tools.find(id));
  }

  @Put(':id')
  @RequireScope('tools:write')
  replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() tool: ToolReplacementDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<ToolDto> {
    return this.tools.replace(id, tool, { actor, precondition });
  }

  @Patch(':id')
  @RequireScope('tools:write')
  patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() tool: ToolPatchDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<ToolDto> {
    return this.tools.patch(id, tool, { actor, precondition });
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('tools:write')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.tools.remove(id, { actor, precondition });
  }

  @Post(':id/restore')
  @HttpCode(200)
  @RequireScope('tools:write')
  async restore(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<ToolDto>> {
    return new Representation(await this.tools.restore(id, { actor, precondition }));
  }
}

@Entity('plots')
class Plot {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'Its name.' })
  readonly name!: string;

  @DeleteDateColumn({ ...TIMESTAMP_COLUMN, name: 'removed_at' })
  @Exclude()
  readonly removedAt!: Date | null;
}

class PlotDto extends DtoOf(Plot) {}
class ListPlotsDto extends ListOf(Plot) {}

@Injectable()
class PlotsRepository extends ResourceRepository(Plot, {
  name: 'plots',
  dto: PlotDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.nothing),
  idTaken: () => new ServiceException(ERRORS.idTaken),
}) {}

@Controller('plots')
class PlotsController {
  constructor(private readonly plots: PlotsRepository) {}

  @Post()
  @HttpCode(200)
  @RequireScope('plots:write')
  create(@Body() plot: PlotDto): Promise<PlotDto> {
    return this.plots.create(plot);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('plots:write')
  import(
    @NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>,
    @RequestSignal() signal: AbortSignal,
  ): LinesFile {
    return new LinesFile(this.plots.import(lines, signal), { endsInError: true });
  }

  @Get()
  @RequireScope('plots:read')
  list(@Query() query: ListPlotsDto): Promise<Page<ListPlotsDto>> {
    return this.plots.list(query);
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('plots:write')
  remove(@Param('id', Int64Pipe) id: bigint): Promise<void> {
    return this.plots.remove(id);
  }

  @Post(':id/restore')
  @HttpCode(200)
  @RequireScope('plots:write')
  restore(@Param('id', Int64Pipe) id: bigint): Promise<PlotDto> {
    return this.plots.restore(id);
  }
}

class CreateTools1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of [
      `CREATE TABLE tools (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name text NOT NULL,
        version integer NOT NULL DEFAULT 1, removed_at timestamptz(3))`,
      'CREATE UNIQUE INDEX tools_name_key ON tools (name) WHERE removed_at IS NULL',
      // Without the removed rows, which no list has.
      'CREATE INDEX ON tools (left(name, 100) COLLATE "C", id) WHERE removed_at IS NULL',
      `CREATE TABLE tool_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
        id bigint NOT NULL, name text, version integer)`,
      'CREATE INDEX tool_changes_id_position_idx ON tool_changes (id, position)',
      'CREATE TABLE plots (id bigint PRIMARY KEY, name text NOT NULL, removed_at timestamptz(3))',
    ]) {
      await queryRunner.query(statement);
    }
    await createChanges(queryRunner, { table: 'tools', changes: 'tool_changes' });
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

const service = runningService(
  appOf([Tool, ToolChange, Plot], [CreateTools1795700000000], {
    controllers: [ToolsController, PlotsController],
    providers: [ToolsRepository, PlotsRepository],
  }),
);
const { send } = service;

beforeEach(() => service.database.empty());

const idsIn = (text: string) => [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));

async function createTool(name: string): Promise<number> {
  const { status, text } = await send('POST', '/tools', { name });
  expect(status).toBe(201);
  return idsIn(text)[0]!;
}

const kindsOf = async (id: number) => {
  const text = `SELECT kind, name FROM tool_changes WHERE id = ${id} ORDER BY position`;
  return (await service.database.query(text)).map(({ kind, name }) => [kind, name]);
};

describe('a removed row', () => {
  it.each([undefined, '*'])(
    'is found by nothing but its restoration, If-Match: %s',
    async (tag) => {
      const headers: Record<string, string> = tag === undefined ? {} : { 'If-Match': tag };
      const [saw, plane] = [await createTool('saw'), await createTool('plane')];
      const before = await send('GET', `/tools/${saw}`);
      expect((await send('DELETE', `/tools/${saw}`, undefined, headers)).status).toBe(204);
      for (const path of [
        '/tools',
        '/tools?sort=-name',
        `/tools?ids=${saw},${plane}`,
        '/tools/export',
        '/tools/typeorm',
      ]) {
        expect([path, idsIn((await send('GET', path)).text)]).toEqual([path, [plane]]);
      }
      for (const path of [
        '/tools?name=saw',
        '/tools?start=s&sort=name',
        '/tools?name=saw&limit=1',
      ]) {
        expect(await send('GET', path)).toMatchObject({ status: 200, text: '[]' });
      }
      for (const path of ['/tools?limit=1&count=true', '/tools?start=&count=true']) {
        const counted = await send('GET', path.replace('start=', 'start=pl'));
        expect(counted.headers.get('x-total-count')).toBe('1');
      }
      for (const [method, body] of [
        ['GET', undefined],
        ['PUT', { name: 'axe' }],
        ['PATCH', { name: 'axe' }],
        ['DELETE', undefined],
      ] as const) {
        const { status, text } = await send(method, `/tools/${saw}`, body, headers);
        expect([method, status, JSON.parse(text)]).toMatchObject([method, 404, { error: 40487 }]);
      }
      const restored = await send('POST', `/tools/${saw}/restore`, undefined, headers);
      expect(restored.status).toBe(200);
      // The removal and the restoration are changes, too.
      expect(JSON.parse(restored.text)).toEqual({ id: saw, name: 'saw', version: 3 });
      const after = await send('GET', `/tools/${saw}`);
      expect(after.headers.get('etag')).toBe(restored.headers.get('etag'));
      expect(JSON.parse(before.text)).toEqual({ id: saw, name: 'saw', version: 1 });
      expect(idsIn((await send('GET', '/tools')).text)).toEqual([saw, plane]);
    },
  );

  it('is recorded as removed, and as created when it is back', async () => {
    const id = await createTool('saw');
    await send('DELETE', `/tools/${id}`);
    await send('DELETE', `/tools/${id}`);
    await send('POST', `/tools/${id}/restore`);
    // A request that is sent again.
    expect((await send('POST', `/tools/${id}/restore`)).status).toBe(200);
    const expected = [
      ['created', 'saw'],
      ['removed', null],
      ['created', 'saw'],
    ];
    expect(await kindsOf(id)).toEqual(expected);
    // No statement was without a record.
    const gaps = await service.database.query('SELECT is_called FROM tool_changes_gap_seq');
    expect(gaps).toEqual([{ is_called: false }]);
  });

  it('stays as it is when it is restored again, with its version', async () => {
    const id = await createTool('saw');
    const restore = () => send('POST', `/tools/${id}/restore`);
    expect(JSON.parse((await restore()).text)).toEqual({ id, name: 'saw', version: 1 });
    await send('DELETE', `/tools/${id}`);
    const first = await restore();
    const again = await restore();
    expect(again).toMatchObject({ status: 200, text: first.text });
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
  });

  it('is restored only if it has the entity tag of the request', async () => {
    const id = await createTool('saw');
    await send('DELETE', `/tools/${id}`);
    const restore = (tag: string) =>
      send('POST', `/tools/${id}/restore`, undefined, { 'If-Match': tag });
    expect((await restore('"other"')).status).toBe(412);
    expect((await send('GET', `/tools/${id}`)).status).toBe(404);
    expect((await restore('*')).status).toBe(200);
  });

  it('leaves its unique value to others, and cannot be restored beside them', async () => {
    const id = await createTool('saw');
    await send('DELETE', `/tools/${id}`);
    const other = await createTool('saw');
    const rejected = await send('POST', `/tools/${id}/restore`);
    expect(rejected).toMatchObject({ status: 409, text: expect.stringContaining('40988') });
    await send('DELETE', `/tools/${other}`);
    expect((await send('POST', `/tools/${id}/restore`)).status).toBe(200);
  });

  it('is restored or not, as the last record says, whatever happens at once', async () => {
    const id = await createTool('saw');
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        n % 2 === 0 ? send('DELETE', `/tools/${id}`) : send('POST', `/tools/${id}/restore`),
      ),
    );
    const removals = outcomes.filter(({ status }) => status === 204).length;
    const kinds = (await kindsOf(id)).map(([kind]) => kind);
    expect(kinds.filter((kind) => kind === 'removed')).toHaveLength(removals);
    expect(kinds).toEqual(kinds.map((_, at) => (at % 2 === 0 ? 'created' : 'removed')));
    const { status } = await send('GET', `/tools/${id}`);
    expect(status).toBe(kinds.at(-1) === 'created' ? 200 : 404);
  });

  it('keeps the id that a client has chosen', async () => {
    const plots = [1, 2, 3].map((id) => ({ id, name: 'north' }));
    const create = () => Promise.all(plots.map((plot) => send('POST', '/plots', plot)));
    for (const { status } of await create()) expect(status).toBe(200);
    await send('DELETE', '/plots/1');
    await send('DELETE', '/plots/2');
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const statuses = (await create()).map(({ status }) => status);
      expect(statuses).toEqual([409, 409, 200]);
    }
    expect((await send('POST', '/plots', { id: 1, name: 'south' })).status).toBe(409);
    // Twice in one group, in other words.
    const lines = '{"id":1,"name":"north"}\n{"id":1,"name":"n\\u006frth"}\n{"id":3,"name":"north"}';
    const imported = await send('POST', '/plots/import', lines);
    expect(imported.text).toContain('{"created":0,"unchanged":1,"refused":2}');
    expect(idsIn((await send('GET', '/plots')).text)).toEqual([3]);
    expect(JSON.parse((await send('POST', '/plots/1/restore')).text)).toEqual(plots[0]);
    expect((await create()).map(({ status }) => status)).toEqual([200, 409, 200]);
  });

  it.each(['/tools/77/restore', '/plots/77/restore'])('must have existed: %s', async (path) => {
    expect(await send('POST', path)).toMatchObject({ status: 404 });
  });
});

it('the time of the removal is in no response', async () => {
  @Entity('shown')
  class Shown {
    @PrimaryColumn(INT64_COLUMN)
    @Int64Field({ description: 'Its number.' })
    readonly id!: bigint;

    @DeleteDateColumn(TIMESTAMP_COLUMN)
    @TimestampField({ description: 'When.', isOptional: true })
    readonly removedAt!: Date | null;
  }
  class ShownDto extends DtoOf(Shown) {}
  const database = await createTestDatabase();
  const schema = { entities: [Shown], migrations: [] };
  const dataSource = dataSourceFor({ identity: IDENTITY, schema }, database.url);
  await dataSource.initialize();
  const declared = {
    entity: Shown,
    dto: ShownDto,
    isGenerated: false,
    filters: {},
    expansions: {},
  };
  expect(resourceMistakes(dataSource, declared, [])).toEqual([
    'Shown.removedAt has @DeleteDateColumn(), and no response has a removed row: replace the decorator of its property with @Exclude() of class-transformer',
  ]);
  await dataSource.destroy();
  await database.drop();
});
