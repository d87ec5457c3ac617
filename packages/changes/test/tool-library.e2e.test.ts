import { setTimeout as sleep } from 'node:timers/promises';
import { Body, Controller, HttpCode, Injectable, Module, Param, Post } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { getRepositoryToken, InjectRepository } from '@nestjs/typeorm';
import { Exclude } from 'class-transformer';
import { Column, CreateDateColumn, Entity, Index, PrimaryColumn, Repository } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { followEvents } from '../../framework/test/support/event-source.js';
import { ENHANCERS } from '../../framework/test/support/enhancers.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { start } from '../../framework/test/support/start.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import { TOKEN } from '../../framework/test/support/tokens.js';
import { CONFIG } from '../../framework/src/config/config.module.js';
import { createDetachedApp } from '../../framework/src/app/detached-app.js';
import { serviceModuleOf } from '../../framework/src/app/framework.module.js';
import {
  Actor,
  AuthGuard,
  defineErrors,
  DtoOf,
  DtoPipe,
  ErrorFilter,
  FrameworkModule,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  ListParameters,
  RequestActor,
  RequireScope,
  ResourceModule,
  ResourceRepository,
  ServiceException,
  TextField,
  TIMESTAMP_COLUMN,
  Transactions,
} from '../../framework/src/index.js';
import { readConfig, withDatabase } from '../../framework/src/testing.js';
import { ChangeOf, FeedModule, recordChanges } from '../src/index.js';
import type { Feed, FeedOptions } from '../src/index.js';
import { createChanges } from '../src/migrations.js';

/* A service as another team writes it, with the public interface of the framework. */

const TOOL_ERRORS = defineErrors([100, 199], {
  toolNotFound: { number: 40_400_100, message: 'there is no such tool', remedy: 'Check the id' },
  toolTaken: { number: 40_900_100, message: 'the id is taken', remedy: 'Choose another one' },
  toolOnLoan: { number: 40_900_101, message: 'the tool is on loan', remedy: 'Wait for it' },
});

@Entity('tools')
class Tool {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'The number of the tool.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'What it is.', example: 'Saw' })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Who has it.', example: 'Ada', isOptional: true })
  readonly borrower!: string | null;

  /** A record has a time of its own. */
  @CreateDateColumn(TIMESTAMP_COLUMN)
  @Exclude()
  readonly time!: Date;
}

class ToolDto extends DtoOf(Tool) {}
class LendToolDto extends DtoOf(Tool, ['borrower']) {}

@Index('tool_changes_id_position_idx', ['id', 'position'])
@Entity('tool_changes')
class ToolChange extends ChangeOf(Tool) {}

class CreateTools1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'CREATE TABLE tools (id bigint PRIMARY KEY, name text NOT NULL, borrower text, time timestamptz(3) NOT NULL DEFAULT now())',
    );
    await queryRunner.query(`CREATE TABLE tool_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
      id bigint NOT NULL, name text, borrower text)`);
    await queryRunner.query(
      'CREATE INDEX tool_changes_id_position_idx ON tool_changes (id, position)',
    );
    await createChanges(queryRunner, { table: 'tools', changes: 'tool_changes' });
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

@Injectable()
class ToolsRepository extends ResourceRepository<Tool, ListParameters, Feed>(Tool, {
  name: 'tools',
  dto: ToolDto,
  filters: {},
  idTaken: () => new ServiceException(TOOL_ERRORS.toolTaken),
  notFound: () => new ServiceException(TOOL_ERRORS.toolNotFound),
  changes: recordChanges(ToolChange, 'tool'),
}) {}

@Injectable()
class ToolsService {
  constructor(
    private readonly tools: ToolsRepository,
    @InjectRepository(Tool) private readonly rows: Repository<Tool>,
    private readonly transactions: Transactions,
  ) {}

  lend(id: bigint, borrower: string, actor: Actor): Promise<ToolDto> {
    return this.transactions.run(async (manager) => {
      const tool = await manager
        .withRepository(this.rows)
        .findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      if (tool === null) throw new ServiceException(TOOL_ERRORS.toolNotFound);
      if (tool.borrower !== null) throw new ServiceException(TOOL_ERRORS.toolOnLoan);
      return this.tools.patch(id, { borrower }, { manager, actor });
    });
  }
}

@Controller('tools')
class ToolsController {
  constructor(
    private readonly tools: ToolsRepository,
    private readonly service: ToolsService,
  ) {}

  @Post()
  @RequireScope('tools:write')
  create(@Body() tool: ToolDto, @RequestActor() actor: Actor): Promise<ToolDto> {
    return this.tools.create(tool, { actor });
  }

  @Post(':id/loan')
  @HttpCode(200)
  @RequireScope('tools:write')
  lend(
    @Param('id', Int64Pipe) id: bigint,
    @Body() { borrower }: LendToolDto,
    @RequestActor() actor: Actor,
  ): Promise<ToolDto> {
    return this.service.lend(id, borrower!, actor);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature([Tool, ToolChange], {
      migrations: [CreateTools1795700000000],
    }),
  ],
  controllers: [ToolsController],
  providers: [ToolsService, ToolsRepository],
  exports: [ToolsRepository],
})
class ToolsModule {}

const FEED: FeedOptions = {
  module: ToolsModule,
  repository: ToolsRepository,
  path: 'tool-changes',
  scope: 'tools:read',
  one: 'a tool',
  plural: 'tools',
  property: 'tool',
  stored: ToolDto,
  schema: 'ToolChange',
  operationIds: ['listToolChanges', 'getLatestToolPosition'],
  example: { id: 7, name: 'Saw' },
};

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule, FeedModule.forFeature(FEED)],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
class AppModule {}

let database: TestDatabase;
let url: string;
let stop: () => Promise<void>;
let tools: ToolsService;

async function startTools(environment: Record<string, string> = {}): Promise<void> {
  const service = await start(AppModule, database, environment);
  url = `http://127.0.0.1:${service.address.port}`;
  stop = () => service.stop();
  tools = service.get(ToolsService);
}

async function request(method: string, path: string, body?: object) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body) ?? null,
  });
  const text = await response.text();
  return { status: response.status, json: JSON.parse(text) as unknown };
}

beforeAll(async () => {
  database = await createTestDatabase();
  await startTools();
});

afterAll(async () => {
  await stop();
  await database.drop();
});

let id = 0;

beforeEach(async () => {
  id += 1;
  const tool = { id, name: 'Saw' };
  expect(await request('POST', '/tools', tool)).toEqual({ status: 201, json: tool });
});

describe('a rule of a service', () => {
  it('changes a row in a transaction, which leaves a record', async () => {
    const lent = { id, name: 'Saw', borrower: 'Ada' };
    const answer = await request('POST', `/tools/${id}/loan`, { borrower: 'Ada' });
    expect(answer).toEqual({ status: 200, json: lent });
    const { json } = await request('GET', `/tool-changes?tool=${id}`);
    expect(json).toMatchObject([
      { kind: 'created', id, tool: { id, name: 'Saw' } },
      { kind: 'replaced', id, tool: lent },
    ]);
  });

  it('leaves a record with its own time, not with the private time of the row', async () => {
    await sleep(5);
    await request('POST', `/tools/${id}/loan`, { borrower: 'Ada' });
    const { json } = await request('GET', `/tool-changes?tool=${id}`);
    const [created, lent] = (json as readonly { readonly time: string }[]).map(({ time }) =>
      Date.parse(time),
    );
    expect(lent).toBeGreaterThan(created!);
  });

  it('may be applied by a job, which the record names', async () => {
    await tools.lend(BigInt(id), 'Ada', Actor.system('lend-reserved'));
    const { json } = await request('GET', `/tool-changes?tool=${id}`);
    expect(json).toMatchObject([
      { principal: { kind: 'static-token' } },
      {
        principal: { kind: 'system', id: 'lend-reserved' },
        requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      },
    ]);
  });

  it('refuses with a number of its own, and changes nothing', async () => {
    await request('POST', `/tools/${id}/loan`, { borrower: 'Ada' });
    const answer = await request('POST', `/tools/${id}/loan`, { borrower: 'Bob' });
    expect(answer).toEqual({
      status: 409,
      json: { error: 40_900_101, message: 'the tool is on loan' },
    });
    expect(await request('POST', '/tools/999/loan', { borrower: 'Bob' })).toMatchObject({
      status: 404,
    });
  });
});

describe('the feed of a resource', () => {
  it('has pages, the newest position and a stream', async () => {
    const { json } = await request('GET', '/tool-changes/latest');
    const { position } = json as { readonly position: number };
    const stream = await followEvents(`${url}/tool-changes?after=${position}&tool=${id}`, {
      Authorization: `Bearer ${TOKEN}`,
    });
    await request('POST', `/tools/${id}/loan`, { borrower: 'Ada' });
    const [event] = await stream.take(1);
    stream.close();
    expect(event?.data).toMatchObject({ kind: 'replaced', tool: { borrower: 'Ada' } });
    const page = await request('GET', '/tool-changes?limit=1');
    expect(page.json).toMatchObject([{ kind: 'created', id: 1 }]);
  });

  it('is documented under its own path', async () => {
    const response = await fetch(`${url}/openapi.json`);
    const { paths, info } = (await response.json()) as {
      readonly info: object;
      readonly paths: Record<string, object>;
    };
    expect(info).toMatchObject({ title: 'Tool Library' });
    expect(paths['/tool-changes']).toMatchObject({ get: { operationId: 'listToolChanges' } });
    expect(paths['/tool-changes/latest']).toBeDefined();
  });

  it('is absent if changes are not recorded', async () => {
    await stop();
    await startTools({ CHANGES_ENABLED: 'false' });
    try {
      expect(await request('GET', '/tool-changes')).toMatchObject({ status: 404 });
      const documented = await (await fetch(`${url}/openapi.json`)).text();
      expect(documented).not.toContain('tool-changes');
      expect(await request('POST', '/tools', { id: 1_000, name: 'Axe' })).toMatchObject({
        status: 201,
      });
    } finally {
      await stop();
      await startTools();
    }
  });
});

describe('an application', () => {
  it('is refused with the feed of a repository that records no changes', async () => {
    @Injectable()
    class SilentRepository extends ResourceRepository<Tool, ListParameters>(Tool, {
      name: 'silent tools',
      dto: ToolDto,
      filters: {},
      idTaken: () => new ServiceException(TOOL_ERRORS.toolTaken),
      notFound: () => new ServiceException(TOOL_ERRORS.toolNotFound),
    }) {}

    @Module({
      imports: [ResourceModule.forFeature([Tool], { migrations: [] })],
      providers: [SilentRepository],
      exports: [SilentRepository],
    })
    class SilentModule {}

    @Module({
      imports: [
        FrameworkModule.forRoot(IDENTITY),
        // The compiler refuses it, too.
        FeedModule.forFeature({
          ...FEED,
          module: SilentModule,
          repository: SilentRepository as never,
        }),
      ],
      providers: ENHANCERS,
    })
    class SilentAppModule {}

    await expect(createDetachedApp(SilentAppModule)).rejects.toThrow(
      'the resource records no changes',
    );
  });

  it('needs the framework, and a database', async () => {
    expect(() => serviceModuleOf(ToolsModule)).toThrow(
      'ToolsModule does not import FrameworkModule.forRoot',
    );
    await expect(Test.createTestingModule({ imports: [AppModule] }).compile()).rejects.toThrow(
      'needs DATABASE_URL and AUTH_TOKEN',
    );
  });
});

describe('the providers of a resource', () => {
  it("are Nest's: injected, with TypeORM's repository beside them, and overridden in a test", async () => {
    const config = withDatabase(readConfig(IDENTITY, { AUTH_TOKEN: TOKEN }), database.url);
    const lent: unknown[] = [];
    const fake = { patch: (...change: unknown[]) => void lent.push(change) };
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(CONFIG)
      .useValue(config)
      .overrideProvider(ToolsRepository)
      .useValue(fake)
      .overrideProvider(Transactions)
      .useValue({
        run: (work: (manager: object) => unknown) =>
          work({ withRepository: () => ({ findOne: () => ({ borrower: null }) }) }),
      })
      .compile();
    expect(module.get(getRepositoryToken(Tool))).toBeInstanceOf(Repository);
    await module.get(ToolsService).lend(7n, 'Ada', {
      principal: { kind: 'static-token', id: 'AUTH_TOKEN', scopes: 'all' },
      requestId: 'r',
    });
    expect(lent).toMatchObject([[7n, { borrower: 'Ada' }, { actor: { requestId: 'r' } }]]);
  });
});
