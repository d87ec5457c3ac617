import { Controller, Delete, Get, Module, Param, Post } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import { describe, expect, it } from 'vitest';
import { Public } from '../../src/auth/public.decorator.js';
import { RequireScope } from '../../src/auth/scopes/require-scope.decorator.js';
import { CONFIG } from '../../src/config/config.module.js';
import type { Identity } from '../../src/config/identity.js';
import { createDetachedApp } from '../../src/app/detached-app.js';
import { FrameworkModule } from '../../src/app/framework.module.js';
import { openApiText } from '../../src/openapi/openapi.js';
import { ApiRepeatable } from '../../src/http/responses/repeatable.js';
import { ApiIdempotencyKey } from '../../src/resources/idempotency/request-idempotency-key.decorator.js';
import { INT64_SCHEMA } from '../../src/resources/properties/int64.js';
import { UUID_SCHEMA } from '../../src/resources/properties/uuid.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';

@Controller('tools')
class ToolsController {
  @Get()
  @RequireScope('tools:read')
  list(): readonly string[] {
    return [];
  }

  @Get('bookings')
  @RequireScope('bookings:read', 'bookings:approve')
  bookings(): readonly string[] {
    return [];
  }
}

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY)],
  providers: ENHANCERS,
  controllers: [ToolsController],
})
class AppModule {}

it('the document has the Error and the scopes of operations that nobody has documented', async () => {
  const app = await createDetachedApp(AppModule);
  const document = JSON.parse(openApiText(app, app.get(CONFIG))) as object;
  await app.close();
  expect(document).toMatchObject({
    info: {
      title: 'Tool Library',
      description: expect.stringContaining(
        'the scope of the operation, or one of several: `bookings:approve`, `bookings:read`, `tools:read`.',
      ),
    },
    paths: {
      '/tools': { get: { 'x-required-scope': 'tools:read', responses: { default: {} } } },
      '/tools/bookings': { get: { 'x-required-scope': ['bookings:read', 'bookings:approve'] } },
    },
    components: { schemas: { Error: { properties: { error: { type: 'integer' } } } } },
  });
});

interface Document {
  readonly info: {
    readonly version: string;
    readonly license?: object;
    readonly description: string;
  };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<
    Record<string, Record<string, { readonly responses: Record<string, { links?: object }> }>>
  >;
}

/** The document of controllers. */
async function documentOf(controllers: Type[], identity: Identity = IDENTITY): Promise<Document> {
  @Module({ imports: [FrameworkModule.forRoot(identity)], providers: ENHANCERS, controllers })
  class DocumentedModule {}
  const app = await createDetachedApp(DocumentedModule);
  const text = openApiText(app, app.get(CONFIG));
  await app.close();
  expect(text).not.toContain('x-repeatable');
  return JSON.parse(text) as Document;
}

/** The paragraph of the introduction with this title. */
function section({ info }: Document, title: string): string | undefined {
  const sections = info.description.split('\n\n## ');
  return sections.find((each) => each.startsWith(`${title}\n\n`))?.slice(title.length + 2);
}

@ApiTags('boxes')
@Controller('boxes')
class BoxesController {
  /** Clients choose the id. */
  @Post()
  @ApiRepeatable()
  @RequireScope('boxes:write')
  create(): void {}

  @Delete(':id')
  @ApiParam({ name: 'id', schema: INT64_SCHEMA })
  @ApiHeader({ name: 'If-Match' })
  @RequireScope('boxes:write')
  remove(@Param('id') _id: string): void {}
}

@ApiTags('loans')
@Controller('loans')
class LoansController {
  /** The database makes the id. */
  @Post()
  @ApiIdempotencyKey()
  @RequireScope('loans:write')
  begin(): void {}

  @Get(':id')
  @ApiParam({ name: 'id', schema: UUID_SCHEMA })
  @RequireScope('loans:read')
  get(@Param('id') _id: string): void {}
}

@Controller('mails')
class MailsController {
  @Post()
  @Public()
  send(): void {}
}

@Controller('crates')
class CratesController {
  @Post(':id/restore')
  @ApiRepeatable('change')
  @RequireScope('crates:write')
  @ApiOperation({ operationId: 'restoreCrate' })
  @ApiResponse({
    status: 201,
    description: 'It is back.',
    links: {
      again: { operationId: 'restoreCrate', description: 'Restores it.' },
      gone: { operationId: 'getCrate', description: 'Looks it up.' },
    },
  })
  restore(@Param('id') _id: string): void {}
}

const AGAIN =
  'After a 429 or 503, wait for the seconds in `Retry-After`, then send the request again';

describe('the introduction of the document says what is true of the operations', () => {
  it('of chosen ids: the same create again changes nothing', async () => {
    const document = await documentOf([BoxesController]);
    expect(section(document, 'Retries')).toBe(
      `${AGAIN}. Every operation is idempotent: a create with the same content changes nothing, and a change with \`If-Match\` is made at most once.`,
    );
    expect(section(document, 'Exact ids')).toContain('Ids are 64-bit integers.');
    expect(document.tags).toEqual([{ name: 'boxes', description: 'Create and remove boxes.' }]);
  });

  it('of made ids: a create is repeated only with a key', async () => {
    const document = await documentOf([LoansController]);
    expect(section(document, 'Retries')).toBe(
      `${AGAIN}, if the operation can be repeated:

- \`LoansController_begin\`: only with an \`Idempotency-Key\`, which is the same in each attempt. Without one, each request is performed, also if an earlier one was performed and its response was lost.
- All other operations are idempotent.`,
    );
    expect(document.info.description).not.toContain('same content');
    expect(section(document, 'Exact ids')).toBe(
      'Ids are UUIDs (RFC 9562), in any case. Responses have them in lower case.',
    );
    expect(document.tags).toEqual([{ name: 'loans', description: 'Create loans.' }]);
  });

  it('of no creates: nothing about the same content', async () => {
    const document = await documentOf([CratesController]);
    expect(section(document, 'Retries')).toBe(`${AGAIN}. Every operation is idempotent.`);
  });

  it('of both, and of an operation of which nothing is known', async () => {
    const document = await documentOf([BoxesController, LoansController, MailsController]);
    const retries = section(document, 'Retries');
    expect(retries).toContain('- `LoansController_begin`: only with an `Idempotency-Key`');
    expect(retries).toContain('- `MailsController_send`: only if the description of the operation');
    expect(retries).toContain(
      '- All other operations are idempotent: a create with the same content changes nothing, and a change with `If-Match`',
    );
    expect(section(document, 'Exact ids')).toContain(
      'The ids of boxes are 64-bit integers, the ids of loans are UUIDs (RFC 9562)',
    );
    expect(section(document, 'Authentication')).toContain('unless its operation says otherwise');
  });

  it('of no ids and no changes: nothing about them', async () => {
    const document = await documentOf([ToolsController]);
    expect(section(document, 'Retries')).toBe(`${AGAIN}. Every operation is idempotent.`);
    expect(document.info.description).not.toContain('64-bit');
  });
});

it('a link leads to an operation that the document has', async () => {
  const { paths } = await documentOf([CratesController]);
  const { responses } = paths['/crates/{id}/restore']!['post']!;
  expect(Object.keys(responses['201']?.links ?? {})).toEqual(['again']);
});

describe('the version and the licence of the document', () => {
  const withLicense = (license: string | undefined) => ({
    ...IDENTITY,
    build: { ...IDENTITY.build, version: '3.4.5', license },
  });

  it('are those of the service', async () => {
    const { info } = await documentOf([ToolsController], withLicense('Apache-2.0'));
    expect(info.version).toBe('3.4.5');
    expect(info.license).toEqual({ name: 'Apache-2.0', identifier: 'Apache-2.0' });
    const unlicensed = await documentOf([ToolsController], withLicense(undefined));
    expect(unlicensed.info).not.toHaveProperty('license');
  });

  it('are those of the interface, if the identity has them', async () => {
    const identity = {
      ...withLicense('Apache-2.0'),
      document: { version: '1.0.0', license: 'MIT' },
    };
    const { info } = await documentOf([ToolsController], identity);
    expect(info).toMatchObject({ version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } });
  });
});
