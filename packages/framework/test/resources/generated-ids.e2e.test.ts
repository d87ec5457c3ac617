import { randomUUID } from 'node:crypto';
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Injectable,
  Module,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import type { StreamableFile, Type } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ChangeOf, FeedModule, recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { createChanges } from '@resource-service/changes/migrations';
import { Exclude } from 'class-transformer';
import { IsDefined } from 'class-validator';
import {
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  Repository,
} from 'typeorm';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { dataSourceFor } from '../support/data-source.js';
import { ENHANCERS } from '../support/enhancers.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { PATIENCE } from '../support/patience.js';
import { start } from '../support/start.js';
import { createTestDatabase, given } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';
import { appOf } from '../support/running-service.js';
import { schemaOf } from '../../src/app/detached-app.js';
import { Statements } from '../../src/database/statements.js';
import { KeptResponses } from '../../src/resources/idempotency/kept-responses.js';
import {
  Actor,
  ApiResource,
  BodyTypes,
  Created,
  DtoOf,
  ExactDigits,
  FrameworkModule,
  GeneratedIdRepository,
  Idempotency,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  isEqual,
  LinesFile,
  ListOf,
  ListParameters,
  NewOf,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
  Representation,
  RequestActor,
  RequestIdempotencyKey,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
  ResourceModule,
  ResourceRepository,
  ServiceException,
  ServiceManaged,
  TextField,
  TIMESTAMP_COLUMN,
  TimestampField,
  Transactions,
  UUID_COLUMN,
  UuidField,
  UuidListParameters,
  UuidParameter,
  UuidPipe,
} from '../../src/index.js';
import type { Filled, Managed, Page, Precondition } from '../../src/index.js';

/* Tools have a number that the database makes, loans a UUID. */

const ERRORS = errorsOf({
  toolNotFound: { number: 40_400_100, message: 'there is no such tool', remedy: 'Check the id' },
  loanNotFound: { number: 40_400_101, message: 'there is no such loan', remedy: 'Check the id' },
  nameTaken: { number: 40_900_100, message: 'the name is taken', remedy: 'Choose another one' },
  toolOnLoan: { number: 40_900_101, message: 'the tool is on loan', remedy: 'Wait for it' },
});

@Entity('tools')
class Tool {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'The number of the tool.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column('text', { unique: true })
  @TextField({ description: 'What it is.', example: 'Saw' })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Who has it.', example: 'Ada', isOptional: true })
  readonly borrower!: string | null;

  @Column({
    ...TIMESTAMP_COLUMN,
    name: 'created_at',
    default: () => 'now()',
    insert: false,
    update: false,
  })
  @TimestampField({ description: 'When it was added.' })
  readonly createdAt!: Filled<Date>;
}

class ToolDto extends DtoOf(Tool) {}
class NewToolDto extends NewOf(Tool) {}
class ToolReplacementDto extends ReplacementOf(Tool) {}

@Entity('loans')
class Loan {
  @PrimaryColumn(UUID_COLUMN)
  @UuidField({ description: 'The id of the loan.' })
  readonly id!: Filled<string>;

  @Column({ ...INT64_COLUMN, name: 'tool_id' })
  @Int64Field({ description: 'What was lent.', example: 7 })
  readonly toolId!: bigint;

  @ManyToOne(() => Tool)
  @JoinColumn({ name: 'tool_id' })
  readonly tool?: Tool;

  @Column('text')
  @TextField({ description: 'To whom.', example: 'Ada' })
  readonly borrower!: string;
}

class LoanDto extends DtoOf(Loan) {}
class NewLoanDto extends NewOf(Loan) {}
class ListLoansDto extends ListOf<Loan>(Loan) {}
@BodyTypes(...PATCH_TYPES)
class LoanPatchDto extends PatchOf(Loan) {}
class LendToolDto extends DtoOf(Loan, ['borrower']) {}

@Index('loan_changes_id_position_idx', ['id', 'position'])
@Entity('loan_changes')
class LoanChange extends ChangeOf(Loan) {}

@Entity('returns')
class Return {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'The number of the return.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column('uuid', { name: 'loan_id' })
  @UuidField({ description: 'What has ended.' })
  readonly loanId!: string;

  @Column('text')
  @TextField({ description: 'What there is to say.' })
  readonly note!: string;

  @ServiceManaged()
  @Column('uuid', { nullable: true })
  @UuidField({ description: 'The receipt.', isOptional: true })
  readonly receipt!: Managed<string> | null;
}

class ReturnDto extends DtoOf(Return) {}
class NewReturnDto extends NewOf(Return) {}

class ListReturnsDto extends ListParameters {
  @UuidParameter('Only returns of this loan.')
  readonly loanId?: string;
}

class CreateTools1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE TABLE tools (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
      name text NOT NULL UNIQUE, borrower text, created_at timestamptz(3) NOT NULL DEFAULT now())`);
    await queryRunner.query(`CREATE TABLE loans (id uuid DEFAULT uuid_v7() PRIMARY KEY,
      tool_id bigint NOT NULL REFERENCES tools, borrower text NOT NULL)`);
    await queryRunner.query(`CREATE TABLE returns (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
      loan_id uuid NOT NULL, note text NOT NULL, receipt uuid)`);
    await queryRunner.query(`CREATE TABLE loan_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
      id uuid NOT NULL, tool_id bigint, borrower text)`);
    await queryRunner.query(
      'CREATE INDEX loan_changes_id_position_idx ON loan_changes (id, position)',
    );
    await createChanges(queryRunner, { table: 'loans', changes: 'loan_changes' });
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

@Injectable()
class ToolsRepository extends GeneratedIdRepository<Tool, ListParameters>(Tool, {
  name: 'tools',
  dto: ToolDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.toolNotFound),
  constraints: { tools_name_key: ERRORS.nameTaken },
}) {}

@Injectable()
class LoansRepository extends GeneratedIdRepository<Loan, ListLoansDto, Feed>(Loan, {
  name: 'loans',
  dto: LoanDto,
  filters: {},
  notFound: (id) => new ServiceException(ERRORS.loanNotFound, `there is no loan ${id}`),
  changes: recordChanges(LoanChange, 'loan'),
}) {}

@Injectable()
class ReturnsRepository extends GeneratedIdRepository<Return, ListReturnsDto>(Return, {
  name: 'returns',
  dto: ReturnDto,
  filters: { loanId: isEqual('loan_id') },
  notFound: () => new ServiceException(ERRORS.loanNotFound),
}) {}

@Injectable()
class LendingService {
  constructor(
    private readonly tools: ToolsRepository,
    private readonly loans: LoansRepository,
    private readonly idempotency: Idempotency,
    private readonly transactions: Transactions,
    @InjectRepository(Tool) private readonly rows: Repository<Tool>,
  ) {}

  takeBack(id: bigint): Promise<ToolDto> {
    return this.transactions.run(async (manager) => {
      await manager.withRepository(this.rows).update({ id }, { borrower: null });
      return this.tools.patch(id, { borrower: null }, { manager });
    });
  }

  lend(id: bigint, { borrower }: LendToolDto, actor: Actor, key?: string): Promise<LoanDto> {
    const once = { key, operation: 'lend a tool', actor, content: { id, borrower } };
    return this.idempotency.once(once, LoanDto, async (manager) => {
      const rows = manager.withRepository(this.rows);
      const tool = await rows.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      if (tool === null) throw new ServiceException(ERRORS.toolNotFound);
      if (tool.borrower !== null) throw new ServiceException(ERRORS.toolOnLoan);
      await this.tools.patch(id, { borrower }, { manager });
      return this.loans.create({ toolId: id, borrower }, { manager, actor });
    });
  }
}

@ApiResource({
  one: 'a tool',
  plural: 'tools',
  dto: ToolDto,
  errors: { noSuch: ERRORS.toolNotFound, others: [ERRORS.nameTaken] },
  examples: {
    create: {
      saw: {
        summary: 'A saw',
        value: { id: 1, name: 'Saw', createdAt: '2026-11-26T10:00:00.000Z' },
      },
    },
  },
})
@Controller('tools')
class ToolsController {
  constructor(
    private readonly tools: ToolsRepository,
    private readonly lending: LendingService,
  ) {}

  @Post()
  @RequireScope('tools:write')
  async create(
    @Body() tool: NewToolDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<ToolDto>> {
    return new Created(await this.tools.create(tool, { actor, idempotencyKey }));
  }

  @Get(':id')
  @RequireScope('tools:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<ToolDto>> {
    return new Representation(await this.tools.find(id));
  }

  @Put(':id')
  @RequireScope('tools:write')
  async replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() tool: ToolReplacementDto,
  ): Promise<Representation<ToolDto>> {
    return new Representation(await this.tools.replace(id, tool));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('tools:write')
  remove(@Param('id', Int64Pipe) id: bigint): Promise<void> {
    return this.tools.remove(id);
  }

  @Post(':id/return')
  @HttpCode(200)
  @RequireScope('tools:write')
  takeBack(@Param('id', Int64Pipe) id: bigint): Promise<ToolDto> {
    return this.lending.takeBack(id);
  }

  @Post(':id/loan')
  @HttpCode(200)
  @RequireScope('tools:write')
  lend(
    @Param('id', Int64Pipe) id: bigint,
    @Body() loan: LendToolDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() key: string | undefined,
  ): Promise<LoanDto> {
    return this.lending.lend(id, loan, actor, key);
  }
}

@Controller('loans')
class LoansController {
  constructor(private readonly loans: LoansRepository) {}

  @Post()
  @RequireScope('tools:write')
  async create(
    @Body() loan: NewLoanDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<LoanDto>> {
    return new Created(await this.loans.create(loan, { actor, idempotencyKey }));
  }

  @Get()
  @RequireScope('tools:read')
  list(@Query() query: ListLoansDto): Promise<Page<ListLoansDto>> {
    return this.loans.list(query);
  }

  @Get('export')
  @RequireScope('tools:read')
  export(@Query() query: UuidListParameters, @RequestSignal() signal: AbortSignal): StreamableFile {
    return new LinesFile(this.loans.export(query, signal));
  }

  @Get(':id')
  @RequireScope('tools:read')
  async get(@Param('id', UuidPipe) id: string): Promise<Representation<LoanDto>> {
    return new Representation(await this.loans.find(id));
  }

  @Patch(':id')
  @RequireScope('tools:write')
  async patch(
    @Param('id', UuidPipe) id: string,
    @Body() loan: LoanPatchDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<LoanDto>> {
    return new Representation(await this.loans.patch(id, loan, { actor, precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('tools:write')
  remove(@Param('id', UuidPipe) id: string, @RequestActor() actor: Actor): Promise<void> {
    return this.loans.remove(id, { actor });
  }
}

@Controller('returns')
class ReturnsController {
  constructor(private readonly returns: ReturnsRepository) {}

  @Post()
  @RequireScope('tools:write')
  async create(
    @Body() body: NewReturnDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<ReturnDto>> {
    // Another one for each request, also for one that is sent again.
    const content = Object.assign(body, { receipt: randomUUID() });
    // The former name of the actor.
    return new Created(await this.returns.create(content, { origin: actor, idempotencyKey }));
  }

  @Get()
  @RequireScope('tools:read')
  list(@Query() query: ListReturnsDto): Promise<Page<ListReturnsDto>> {
    return this.returns.list(query);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature([Tool, Loan, LoanChange, Return], {
      migrations: [CreateTools1795700000000],
      privileges: new Map([[LoanChange, ['SELECT', 'INSERT']]]),
    }),
  ],
  controllers: [ToolsController, LoansController, ReturnsController],
  providers: [ToolsRepository, LoansRepository, ReturnsRepository, LendingService],
  exports: [LoansRepository],
})
class LibraryModule {}

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY),
    LibraryModule,
    FeedModule.forFeature({
      module: LibraryModule,
      repository: LoansRepository,
      path: 'loan-changes',
      scope: 'tools:read',
      one: 'a loan',
      plural: 'loans',
      property: 'loan',
      stored: LoanDto,
      schema: 'LoanChange',
      operationIds: ['listLoanChanges', 'getLatestLoanPosition'],
      example: { id: '01920000-0000-7000-8000-000000000001', toolId: 7, borrower: 'Ada' },
    }),
  ],
  providers: ENHANCERS,
})
class AppModule {}

let database: TestDatabase;
let url: string;
let stop: () => Promise<void>;
let idempotency: Idempotency;
let loans: LoansRepository;
let transactions: Transactions;

async function startTools(): Promise<void> {
  const environment = { CORS_ORIGINS: 'https://page.example' };
  const service = await start(AppModule, database, environment, { slot: PATIENCE });
  url = `http://127.0.0.1:${service.address.port}`;
  stop = () => service.stop();
  idempotency = service.get(Idempotency);
  loans = service.get(LoansRepository);
  transactions = service.get(Transactions);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

async function request(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body) ?? null,
  });
  const text = await response.text();
  const isObject = /^\{.*\}$/.test(text);
  const json = (isObject ? JSON.parse(text) : {}) as Answer['json'];
  return { status: response.status, text, json, headers: response.headers };
}

/** All but the first. */
const tools = () => database.query(`SELECT FROM tools WHERE name <> 'Hammer'`);

const withKey = (key: string) => ({ 'Idempotency-Key': key });

beforeAll(async () => {
  database = await createTestDatabase();
  await startTools();
});

afterAll(async () => {
  await stop();
  await database.drop();
});

/** A tool. */
let toolId: number;

beforeEach(async () => {
  await database.empty();
  const [tool] = await database.query(`INSERT INTO tools (name) VALUES ('Hammer') RETURNING id`);
  toolId = Number(tool!['id']);
});

describe('a create', () => {
  it('answers 201 with the stored row, its path and its entity tag', async () => {
    const created = await request('POST', '/tools', { name: 'Saw' });
    expect(created.status).toBe(201);
    expect(created.json).toEqual({
      id: expect.any(Number),
      name: 'Saw',
      createdAt: expect.stringMatching(/^20.*Z$/),
    });
    const path = created.headers.get('Location')!;
    expect(path).toBe(`/tools/${String(created.json['id'])}`);
    const found = await request('GET', path);
    expect(found.text).toBe(created.text);
    expect(found.headers.get('ETag')).toBe(created.headers.get('ETag'));
  });

  it('ignores members that the database fills', async () => {
    const created = await request('POST', '/tools', {
      id: 99,
      name: 'Saw',
      createdAt: '1999-01-01T00:00:00.000Z',
    });
    expect(created.json['id']).not.toBe(99);
    expect(created.json['createdAt']).not.toContain('1999');
  });

  it('creates another row each time, without a key', async () => {
    const loan = { toolId, borrower: 'Ada' };
    const answers = [await request('POST', '/loans', loan), await request('POST', '/loans', loan)];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers[0]!.json['id']).not.toBe(answers[1]!.json['id']);
  });

  it('violates a declared constraint as that failure', async () => {
    await request('POST', '/tools', { name: 'Saw' });
    expect(await request('POST', '/tools', { name: 'Saw' })).toMatchObject({
      status: 409,
      json: { error: 40_900_100 },
    });
  });
});

describe('rows that were inserted with ids of their own', () => {
  const insert = (from: number, count: number) =>
    database.query(
      `INSERT INTO tools (id, name) SELECT ${from} + n, 'own ' || n FROM generate_series(0, ${count - 1}) AS n`,
    );
  const nextId = async () =>
    Number((await database.query(`SELECT nextval('tools_id_seq') AS next`))[0]!['next']) + 1;

  it.each([1, 5, 1_000, 50_000])('do not let the next creates fail: %d', async (count) => {
    const first = await nextId();
    await insert(first, count);
    const sent = Array.from({ length: 20 }, (_, at) =>
      request('POST', '/tools', { name: `Saw ${at}` }),
    );
    const answers = await Promise.all(sent);
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const ids = answers.map(({ json }) => Number(json['id']));
    expect(new Set(ids).size).toBe(20);
    expect(Math.min(...ids)).toBeGreaterThanOrEqual(first + count);
    expect(await database.query(`SELECT FROM tools WHERE name LIKE 'Saw%'`)).toHaveLength(20);
  });

  it('do not use up the ids, if one of them is the last that there is', async () => {
    await insert(await nextId(), 3);
    await database.query(`INSERT INTO tools (id, name) VALUES (9223372036854775807, 'last')`);
    const { status, json } = await request('POST', '/tools', { name: 'Saw' });
    expect(status).toBe(201);
    expect(json['id']).toBeLessThan(1_000_000);
    expect((await request('POST', '/tools', { name: 'Axe' })).status).toBe(201);
  });

  it('do not end a transaction, nor a create with a key', async () => {
    await database.query(`SELECT setval('returns_id_seq', 1, false)`);
    await database.query(
      `INSERT INTO returns (id, loan_id, note) SELECT n, gen_random_uuid(), '' FROM generate_series(1, 9) AS n`,
    );
    const key = withKey(randomUUID());
    const body = { loanId: randomUUID(), note: 'late' };
    const created = await request('POST', '/returns', body, key);
    expect(created).toMatchObject({ status: 201, json: { id: 10 } });
    expect((await request('POST', '/returns', body, key)).text).toBe(created.text);
    expect(await database.query(`SELECT FROM returns WHERE note = 'late'`)).toHaveLength(1);
  });

  it('cost no second connection in a transaction, and no failure if the sequence cannot be moved', async () => {
    const role = `tools_${randomUUID().replaceAll('-', '')}`;
    const limited = new URL(database.url);
    [limited.username, limited.password] = [role, 'secret'];
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    // Not the sequences.
    await database.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    await database.query(`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO ${role}`);
    const settings = { DATABASE_POOL_MAX: '1', DATABASE_MIGRATE_ON_START: 'false' };
    const usual = url;
    try {
      for (const [to, taken] of [
        [database.url, 1_000],
        [limited.href, 5],
      ] as const) {
        await database.query('TRUNCATE returns RESTART IDENTITY');
        await database.query(
          `INSERT INTO returns (id, loan_id, note) SELECT n, gen_random_uuid(), '' FROM generate_series(1, ${taken}) AS n`,
        );
        const service = await start(AppModule, given(to), settings);
        url = `http://127.0.0.1:${service.address.port}`;
        try {
          const body = { loanId: randomUUID(), note: 'late' };
          const created = await request('POST', '/returns', body, withKey(randomUUID()));
          expect(created).toMatchObject({ status: 201, json: { id: taken + 1 } });
        } finally {
          await service.stop();
        }
      }
    } finally {
      url = usual;
      await database.query(`DROP OWNED BY ${role}`);
      await database.query(`DROP ROLE ${role}`);
    }
  });

  it('do not let creates fail for DATABASE_SERVICE_ROLE, which may move the sequence', async () => {
    const role = `tools_${randomUUID().replaceAll('-', '')}`;
    const limited = new URL(database.url);
    [limited.username, limited.password] = [role, 'secret'];
    const access = { DATABASE_SERVICE_ROLE: role };
    const usual = url;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await (await start(AppModule, database, access)).stop();
    const settings = { DATABASE_MIGRATE_ON_START: 'false' };
    const service = await start(AppModule, given(limited.href), settings);
    url = `http://127.0.0.1:${service.address.port}`;
    try {
      const first = await nextId();
      await insert(first, 1_000);
      const created = await request('POST', '/tools', { name: 'Saw' });
      expect(created).toMatchObject({ status: 201, json: { id: first + 1_000 } });
      const [positions] = await database.query(
        `SELECT has_sequence_privilege('${role}', 'loan_changes_position_seq', 'USAGE') AS may`,
      );
      expect(positions).toEqual({ may: false });
    } finally {
      url = usual;
      await service.stop();
      await database.query(`DROP OWNED BY ${role}`);
      await database.query(`DROP ROLE ${role}`);
    }
  });

  it('do not hide another failure', async () => {
    await insert(await nextId(), 3);
    expect(await request('POST', '/tools', { name: 'Hammer' })).toMatchObject({
      status: 409,
      json: { error: 40_900_100 },
    });
  });
});

describe('a create with an Idempotency-Key', () => {
  it('is performed once, and its answer kept', async () => {
    const key = withKey(randomUUID());
    const first = await request('POST', '/tools', { name: 'Saw' }, key);
    await request('PUT', `/tools/${String(first.json['id'])}`, { name: 'Axe' });
    const again = await request('POST', '/tools', { name: 'Saw' }, key);
    expect(again.status).toBe(201);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('Location')).toBe(first.headers.get('Location'));
    await request('DELETE', `/tools/${String(first.json['id'])}`);
    expect((await request('POST', '/tools', { name: 'Saw' }, key)).text).toBe(first.text);
    expect(await tools()).toHaveLength(0);
  });

  it('is performed once if it is sent many times at once', async () => {
    const key = withKey(randomUUID());
    const sent = Array.from({ length: 20 }, () => request('POST', '/tools', { name: 'Saw' }, key));
    const answers = await Promise.all(sent);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(201);
    expect(await tools()).toHaveLength(1);
  });

  it('waits while it is performed, apart from other requests', async () => {
    const other = new Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query(`INSERT INTO tools (name) VALUES ('Saw')`);
      const key = withKey(randomUUID());
      const waiting = Array.from({ length: 30 }, () =>
        request('POST', '/tools', { name: 'Saw' }, key),
      );
      expect(await Promise.race(waiting)).toMatchObject({ status: 503, json: { error: 50_310 } });
      const others = Array.from({ length: 10 }, (_, at) =>
        request('POST', '/tools', { name: `Axe ${at}` }, withKey(randomUUID())),
      );
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(10).fill(201));
      await other.query('ROLLBACK');
      await Promise.all(waiting);
      expect(await request('POST', '/tools', { name: 'Saw' }, key)).toMatchObject({ status: 201 });
    } finally {
      await other.end();
    }
  });

  it('writes when it is sent again, so that the answer waits for standbys like the first', async () => {
    const key = withKey(randomUUID());
    const version = () => database.query('SELECT xmin::text, ctid::text FROM idempotency_keys');
    await request('POST', '/tools', { name: 'Saw' }, key);
    const first = await version();
    await request('POST', '/tools', { name: 'Saw' }, key);
    expect(await version()).not.toEqual(first);
  });

  it('has the same keys before and after a rotation of the static token', async () => {
    await request('POST', '/tools', { name: 'Saw' }, withKey('a-key'));
    expect(await database.query('SELECT principal FROM idempotency_keys')).toEqual([
      { principal: 'static-token' },
    ]);
  });

  it('leaves one record of the change', async () => {
    const key = withKey(randomUUID());
    const loan = { toolId, borrower: 'Ada' };
    await request('POST', '/loans', loan, key);
    await request('POST', '/loans', loan, key);
    expect(await database.query('SELECT kind FROM loan_changes')).toEqual([{ kind: 'created' }]);
  });

  it('can come from a page of another origin, which reads where the row is', async () => {
    const Origin = 'https://page.example';
    const preflight = await fetch(`${url}/tools`, {
      method: 'OPTIONS',
      headers: { Origin, 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toContain('Idempotency-Key');
    const created = await request('POST', '/tools', { name: 'Saw' }, { Origin });
    expect(created.headers.get('Access-Control-Expose-Headers')).toContain('Location');
  });

  it('is refused with another body', async () => {
    const key = withKey(randomUUID());
    await request('POST', '/tools', { name: 'Saw' }, key);
    expect(await request('POST', '/tools', { name: 'Axe' }, key)).toMatchObject({
      status: 422,
      json: { error: 42_200 },
    });
    expect(await tools()).toHaveLength(1);
  });

  it('has a key of its own for each operation and each principal', async () => {
    const key = withKey(randomUUID());
    const loan = { toolId, borrower: 'Ada' };
    const tool = await request('POST', '/tools', { name: 'Saw' }, key);
    expect(await request('POST', '/loans', loan, key)).toMatchObject({ status: 201 });
    await database.query(`UPDATE idempotency_keys SET principal = 'issued-token:another'`);
    const other = await request('POST', '/loans', loan, key);
    expect(other.status).toBe(201);
    expect(await database.query('SELECT FROM loans')).toHaveLength(2);
    expect(tool.status).toBe(201);
  });

  it('can be corrected and sent again after a failure, of which nothing is kept', async () => {
    await request('POST', '/tools', { name: 'Saw' });
    const key = withKey(randomUUID());
    expect((await request('POST', '/tools', { name: 'Saw' }, key)).status).toBe(409);
    expect((await request('POST', '/tools', { name: 'Axe' }, key)).status).toBe(201);
  });

  it('takes the key with and without quotation marks', async () => {
    const first = await request('POST', '/tools', { name: 'Saw' }, withKey('"a-key"'));
    const again = await request('POST', '/tools', { name: 'Saw' }, withKey('a-key'));
    expect(again.text).toBe(first.text);
  });

  it.each(['', 'two keys', '"a", "b"', '"a', 'é', 'x'.repeat(256)])(
    'is refused with %j as the key',
    async (key) => {
      const answer = await request('POST', '/tools', { name: 'Saw' }, withKey(key));
      expect(answer).toMatchObject({ status: 400, json: { error: 40_004 } });
      expect(answer.json['message']).toContain('Idempotency-Key must be 1 to 255');
      expect(await tools()).toHaveLength(0);
    },
  );

  it('is performed once if its connection to the database is cut within the transaction', async () => {
    const key = withKey(randomUUID());
    await database.query(`CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(30); RETURN NEW; END'`);
    await database.query(
      'CREATE TRIGGER slow AFTER INSERT ON tools EXECUTE FUNCTION wait_for_lock()',
    );
    const sent = request('POST', '/tools', { name: 'Saw' }, key);
    const cut = `SELECT pg_terminate_backend(pid) AS cut FROM pg_stat_activity
      WHERE wait_event = 'PgSleep' AND datname = current_database()`;
    await vi.waitUntil(async () => (await database.query(cut)).length > 0, { timeout: 10_000 });
    expect((await sent).status).toBe(503);
    await database.query('DROP TRIGGER slow ON tools');
    expect((await request('POST', '/tools', { name: 'Saw' }, key)).status).toBe(201);
    expect((await request('POST', '/tools', { name: 'Saw' }, key)).status).toBe(201);
    expect(await tools()).toHaveLength(1);
    expect(await database.query('SELECT FROM idempotency_keys')).toHaveLength(1);
  });
});

describe('creates that refer to a row', () => {
  it('leave connections to others while another transaction holds the row', async () => {
    const other = new Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT FROM tools FOR UPDATE');
      const waiting = Array.from({ length: 30 }, () =>
        request('POST', '/loans', { toolId, borrower: 'Ada' }),
      );
      const first = await Promise.race(waiting);
      expect(first).toMatchObject({ status: 503, json: { error: 50_310 } });
      // By now, it is known that the row is locked.
      const others = Array.from({ length: 10 }, (_, at) =>
        request('POST', '/tools', { name: `Saw ${at}` }),
      );
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(10).fill(201));
      await other.query('COMMIT');
      await Promise.all(waiting);
    } finally {
      await other.end();
    }
    expect(await request('POST', '/loans', { toolId, borrower: 'Ada' })).toMatchObject({
      status: 201,
    });
  });
});

describe.each([
  ['with Idempotency.once and a key', 'POST', '/loan', { borrower: 'Ada' }, true],
  ['with Idempotency.once', 'POST', '/loan', { borrower: 'Ada' }, false],
  ['with Transactions.run', 'POST', '/return', undefined, false],
  ['with a PUT', 'PUT', '', { name: 'Hammer' }, false],
  ['with a DELETE', 'DELETE', '', undefined, false],
] as const)(
  'a row that another transaction holds, and that requests %s need',
  (_, method, path, body, hasKey) => {
    /** Requests that need other rows. */
    async function others(other: number): Promise<readonly number[]> {
      const statuses: number[] = [];
      const sendAll = async (client: number): Promise<void> => {
        for (let at = 0; at < 5; at += 1) {
          const name = `Saw ${client} ${at}`;
          const answers = [
            await request('POST', '/tools', { name }),
            await request('PUT', `/tools/${other}`, { name: `Axe ${at}` }),
            await request('POST', `/tools/${other}/return`),
          ];
          statuses.push(...answers.map(({ status }) => status));
        }
      };
      await Promise.all([1, 2].map(sendAll));
      await database.query(`DELETE FROM tools WHERE name LIKE 'Saw%'`);
      return statuses;
    }

    // Other work of the machine can slow the second measurement only. Who waits for the row would wait each time.
    it.each([4, 15])('keeps nobody else waiting: %i clients', { retry: 2 }, async (clients) => {
      const other = Number((await request('POST', '/tools', { name: 'Axe' })).json['id']);
      const begin = performance.now();
      const wanted = await others(other);
      const usual = performance.now() - begin;
      expect(new Set(wanted)).toEqual(new Set([200, 201]));
      const holder = new Client({ connectionString: database.url });
      await holder.connect();
      const over = new AbortController();
      await holder.query('BEGIN');
      await holder.query(`SELECT FROM tools WHERE id = ${toolId} FOR UPDATE`);
      const needing = Array.from({ length: clients }, async () => {
        while (!over.signal.aborted) {
          const headers = hasKey ? withKey(randomUUID()) : {};
          await request(method, `/tools/${toolId}${path}`, body, headers);
        }
      });
      try {
        await vi.waitFor(
          async () =>
            expect(await database.query('SELECT FROM pg_locks WHERE NOT granted')).not.toHaveLength(
              0,
            ),
          PATIENCE,
        );
        const began = performance.now();
        expect(await others(other)).toEqual(wanted);
        expect(performance.now() - began).toBeLessThan(10 * usual + 2_000);
      } finally {
        over.abort();
        await holder.query('ROLLBACK');
        await holder.end();
        await Promise.all(needing);
      }
    });
  },
);

describe('an operation of a service with an Idempotency-Key', () => {
  it('changes two tables once, with a record', async () => {
    const tool = await request('POST', '/tools', { name: 'Saw' });
    const path = `/tools/${String(tool.json['id'])}/loan`;
    const key = withKey(randomUUID());
    const lent = await request('POST', path, { borrower: 'Ada' }, key);
    expect(lent).toMatchObject({ status: 200, json: { toolId: tool.json['id'], borrower: 'Ada' } });
    expect((await request('POST', path, { borrower: 'Ada' }, key)).text).toBe(lent.text);
    expect(await request('POST', path, { borrower: 'Ada' })).toMatchObject({ status: 409 });
    expect(await database.query('SELECT FROM loans')).toHaveLength(1);
    expect(await database.query('SELECT kind FROM loan_changes')).toEqual([{ kind: 'created' }]);
  });

  it('keeps nothing of a failure', async () => {
    const key = withKey(randomUUID());
    const path = `/tools/${toolId}/loan`;
    await database.query(`UPDATE tools SET borrower = 'Bob'`);
    expect(await request('POST', path, { borrower: 'Ada' }, key)).toMatchObject({ status: 409 });
    expect(await database.query('SELECT FROM idempotency_keys')).toHaveLength(0);
    await database.query('UPDATE tools SET borrower = NULL');
    expect(await request('POST', path, { borrower: 'Ada' }, key)).toMatchObject({ status: 200 });
  });
});

describe('an operation that is performed once', () => {
  it('tells whether it is a replay, so that its other effects happen once, too', async () => {
    const actor = Actor.system('lend');
    const lend = (key?: string) =>
      idempotency.performOnce(
        { key, operation: 'tell', actor, content: {} },
        LendToolDto,
        async () => Promise.resolve({ borrower: 'Ada' }),
      );
    const result = { borrower: 'Ada' };
    expect(await lend('a')).toEqual({ result, isReplay: false });
    expect(await lend('a')).toEqual({ result, isReplay: true });
    expect(await lend()).toEqual({ result, isReplay: false });
    expect(await lend('b')).toEqual({ result, isReplay: false });
  });

  it('is replayed also if its result is nested deeper than a body can be', async () => {
    class NestedDto {
      @ExactDigits()
      @IsDefined()
      readonly inner!: unknown;
    }
    let inner: unknown = 1;
    for (let depth = 0; depth < 100; depth += 1) inner = [inner];
    const actor = Actor.system('nest');
    const nest = () =>
      idempotency.performOnce(
        { key: 'nested', operation: 'nest', actor, content: {} },
        NestedDto,
        () => Promise.resolve({ inner }),
      );
    expect(await nest()).toEqual({ result: { inner }, isReplay: false });
    expect(await nest()).toEqual({ result: { inner }, isReplay: true });
  });

  it('has a connection beside other transactions, also if there are many at once', async () => {
    const actor = Actor.system('lend');
    const lend = (key: string) =>
      transactions.run(async (manager) => {
        await manager.query('SELECT 1');
        return idempotency.performOnce(
          { key, operation: 'lend beside', actor, content: {} },
          LendToolDto,
          async (own) => {
            await own.query('SELECT 1');
            return { borrower: 'Ada' };
          },
        );
      });
    // Each key twice, so that one of two waits for the other, and holds two connections.
    const all = await Promise.all(Array.from({ length: 30 }, (_, at) => lend(`beside ${at % 15}`)));
    expect(all.filter(({ isReplay }) => isReplay)).toHaveLength(15);
  });
});

describe('kept answers', () => {
  it('are removed after 24 hours', async () => {
    await request('POST', '/tools', { name: 'Saw' }, withKey('old'));
    await request('POST', '/tools', { name: 'Axe' }, withKey('young'));
    await database.query(
      `UPDATE idempotency_keys SET created_at = now() - interval '24 hours 1 minute' WHERE key = 'old'`,
    );
    await stop();
    await startTools();
    await vi.waitUntil(
      async () => (await database.query('SELECT FROM idempotency_keys')).length === 1,
      { timeout: 10_000 },
    );
    expect(await database.query('SELECT key FROM idempotency_keys')).toEqual([{ key: 'young' }]);
  });
});

describe('kept responses are bounded', () => {
  const names = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(1_000));
  const keyOf = (name: string) => withKey(name.slice(0, 1));
  const create = (name: string) => request('POST', '/tools', { name }, keyOf(name));
  const BOUNDS = { rows: 100, bytes: 1_000_000 };
  let dataSource: DataSource;
  let statements: Statements;

  beforeAll(async () => {
    const schema = { entities: [], migrations: [], functions: [] };
    dataSource = dataSourceFor({ identity: IDENTITY, schema }, database.url);
    await dataSource.initialize();
    statements = new Statements(dataSource);
  });

  afterAll(() => dataSource.destroy());

  afterEach(() => vi.restoreAllMocks());

  async function createLongAgo(name: string): Promise<Answer> {
    const created = await create(name);
    await database.query(
      `UPDATE idempotency_keys SET created_at = created_at - interval '2 minutes'`,
    );
    return created;
  }

  /** @param rows of a part */
  function bounded(bounds: Partial<typeof BOUNDS>, rows: number): KeptResponses {
    return new KeptResponses(statements, { ...BOUNDS, ...bounds }, { rows, bytes: 10_000 });
  }

  async function trimAll(kept: KeptResponses): Promise<void> {
    while (await kept.trim());
  }

  const keys = async (condition: string) => {
    const rows = await database.query(
      `SELECT key FROM idempotency_keys WHERE ${condition} ORDER BY key`,
    );
    return rows.map(({ key }) => key);
  };

  it('in bytes: the oldest are forgotten, and their requests are not performed again', async () => {
    const created: Answer[] = [];
    for (const name of names) created.push(await createLongAgo(name));
    // PostgreSQL compresses what is longer than 2 kB. Two responses have 2.2 kB.
    const kept = bounded({ bytes: 3_000 }, 1);
    await trimAll(kept);
    expect(await keys('answer IS NULL')).toEqual(['a', 'b']);
    // Another replica, or the next start.
    await trimAll(bounded({ bytes: 3_000 }, 1));
    for (const [at, name] of names.entries()) {
      const again = await create(name);
      if (at >= 2) expect(again.text).toBe(created[at]!.text);
      else expect(again).toMatchObject({ status: 409, json: { error: 40901 } });
      expect(await request('POST', '/tools', { name: 'x' }, keyOf(name))).toMatchObject({
        status: 422,
      });
    }
    expect(await tools()).toHaveLength(4);
  });

  it('in number: the oldest keys are removed', async () => {
    for (const name of names) await createLongAgo(name);
    await trimAll(bounded({ rows: 2 }, 1));
    expect(await keys('true')).toEqual(['c', 'd']);
  });

  it('and each row is read once, also while they stay at the bound', async () => {
    for (const name of names) await createLongAgo(name);
    const kept = bounded({ bytes: 3_000 }, 1);
    await trimAll(kept);
    const run = vi.spyOn(statements, 'run');
    expect(await kept.trim()).toBe(false);
    const [newest] = await database.query('SELECT max(created_at) AS at FROM idempotency_keys');
    expect(run.mock.calls.map(([{ values }]) => values?.[0])).toEqual([newest!['at']]);
    await create('e'.repeat(1_000));
    // Later than all that were read.
    await database.query(
      `UPDATE idempotency_keys SET created_at = now() - interval '61 seconds' WHERE key = 'e'`,
    );
    await trimAll(kept);
    expect(await keys('answer IS NULL')).toEqual(['a', 'b', 'c']);
  });

  it('whatever times they have: one time for many, or earlier than what was read', async () => {
    const add = (key: string, time: string) =>
      database.query(
        `INSERT INTO idempotency_keys SELECT 'add', 'a', $1::text || i, '', repeat('x', 1000), $2::timestamptz FROM generate_series(1, 3) i`,
        [key, time],
      );
    const kept = bounded({ bytes: 4_000 }, 2);
    const hours = (ago: number) => new Date(Date.now() - ago * 3_600_000).toISOString();
    const [first, second] = [hours(4), hours(2)];
    await add('a', first);
    await trimAll(kept);
    await add('late', hours(5));
    expect(await keys('answer IS NOT NULL')).toHaveLength(6);
    await add('b', second);
    await trimAll(kept);
    expect(await keys('answer IS NOT NULL')).toEqual(['b1', 'b2', 'b3']);
  });
});

describe('a UUID', () => {
  it('is of version 7, so rows are listed in the order in which they were created', async () => {
    const ids: unknown[] = [];
    for (const borrower of ['Ada', 'Bob', 'Cy']) {
      const { json } = await request('POST', '/loans', { toolId, borrower });
      expect(json['id']).toMatch(
        /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
      );
      ids.push(json['id']);
      await database.query('SELECT pg_sleep(0.002)');
    }
    const page = await request('GET', '/loans?limit=2');
    expect((JSON.parse(page.text) as { id: string }[]).map(({ id }) => id)).toEqual(
      ids.slice(0, 2),
    );
    expect(page.headers.get('Link')).toBe(`</loans?limit=2&after=${String(ids[1])}>; rel="next"`);
    const last = await request('GET', `/loans?limit=2&after=${String(ids[1])}`);
    expect(last.text).toContain(String(ids[2]));
    expect(last.headers.get('Link')).toBeNull();
    const greatest = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    expect((await request('GET', `/loans?after=${greatest}`)).text).toBe('[]');
    const lines = (await request('GET', '/loans/export')).text.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(ids);
  });

  it('identifies a row in all operations', async () => {
    const { json } = await request('POST', '/loans', { toolId, borrower: 'Ada' });
    const path = `/loans/${String(json['id'])}`;
    const found = await request('GET', path);
    expect(found.json).toEqual(json);
    const changed = await request(
      'PATCH',
      path,
      { id: json['id'], borrower: 'Bob' },
      { 'If-Match': found.headers.get('ETag')! },
    );
    expect(changed).toMatchObject({ status: 200, json: { id: json['id'], borrower: 'Bob' } });
    expect(await request('PATCH', path, { id: randomUUID(), borrower: 'Cy' })).toMatchObject({
      status: 400,
      json: { message: `id must be the id in the path, ${String(json['id'])}` },
    });
    expect((await request('DELETE', path)).status).toBe(204);
    expect(await request('GET', path)).toMatchObject({ status: 404, json: { error: 40_400_101 } });
    const feed = await request('GET', `/loan-changes?loan=${String(json['id'])}`);
    expect(JSON.parse(feed.text)).toMatchObject([
      { kind: 'created', id: json['id'], loan: { borrower: 'Ada' } },
      { kind: 'replaced', id: json['id'], loan: { borrower: 'Bob' } },
      { kind: 'removed', id: json['id'] },
    ]);
  });

  it.each([
    '0192',
    '{01920000-0000-7000-8000-000000000001}',
    'urn:uuid:01920000-0000-7000-8000-000000000001',
    '01920000000070008000000000000001',
    '01920000-0000-7000-8000-00000000000G',
    '01920000-0000-7000-8000-00000000000\u0130',
  ])('has hyphens and nothing else, so %s is refused', async (id) => {
    for (const path of [`/loans/${id}`, `/loans?after=${id}`, `/loan-changes?loan=${id}`]) {
      expect(await request('GET', path)).toMatchObject({ status: 400, json: { error: 40_004 } });
    }
  });

  it('may be written in any case, and is answered in lower case', async () => {
    const { json } = await request('POST', '/loans', { toolId, borrower: 'Ada' });
    const other = await request('POST', '/loans', { toolId, borrower: 'Bob' });
    const id = String(json['id']);
    const upper = id.toUpperCase();
    expect(upper).not.toBe(id);
    const found = await request('GET', `/loans/${id}`);
    const inUpper = await request('GET', `/loans/${upper}`);
    expect(inUpper.text).toBe(found.text);
    expect(inUpper.headers.get('ETag')).toBe(found.headers.get('ETag'));
    expect((await request('GET', `/loans?ids=${upper},${id}&limit=1`)).text).toBe(
      `[${found.text}]`,
    );
    expect((await request('GET', `/loans?after=${upper}`)).text).toBe(`[${other.text}]`);
    const page = await request(
      'GET',
      `/loans?limit=1&ids=${upper}&ids=${String(other.json['id']).toUpperCase()}`,
    );
    expect(page.headers.get('Link')).toBe(
      `</loans?limit=1&ids=${String(other.json['id'])}&after=${id}>; rel="next"`,
    );
    const changed = await request('PATCH', `/loans/${upper}`, { id: upper, borrower: 'Cy' });
    expect(changed).toMatchObject({ status: 200, json: { id, borrower: 'Cy' } });
    const mixed = `${upper.slice(0, 18)}${id.slice(18)}`;
    expect(await request('PATCH', `/loans/${id}`, { id: mixed })).toMatchObject({ status: 200 });
    const feed = await request('GET', `/loan-changes?loan=${upper}`);
    expect(JSON.parse(feed.text)).toMatchObject([
      { kind: 'created', id },
      { kind: 'replaced', id },
    ]);
    expect((await request('DELETE', `/loans/${upper}`)).status).toBe(204);
    expect((await request('GET', `/loans/${id}`)).status).toBe(404);
  });

  it('may be given to a repository in any case, alone and in a group', async () => {
    const created = await Promise.all(
      ['Ada', 'Bob', 'Cy'].map((borrower) => request('POST', '/loans', { toolId, borrower })),
    );
    const ids = created.map(({ json }) => String(json['id']));
    const upper = ids.map((id) => id.toUpperCase());
    const found = await Promise.all(upper.map((id) => loans.find(id)));
    expect(found.map(({ id }) => id)).toEqual(ids);
    const context = { actor: Actor.system('rename') };
    const changed = await loans.patchMany(upper, { borrower: 'Di' }, context);
    expect(changed.map(({ id }) => id)).toEqual(ids);
    const [id] = ids;
    const again = await loans.patch(upper[0]!, { id, borrower: 'Ed' }, context);
    expect(again).toMatchObject({ id, borrower: 'Ed' });
  });

  it('is the same content of a request in any case', async () => {
    const { json } = await request('POST', '/loans', { toolId, borrower: 'Ada' });
    const key = withKey(randomUUID());
    const id = String(json['id']);
    const first = await request(
      'POST',
      '/returns',
      { loanId: id.toUpperCase(), note: 'late' },
      key,
    );
    expect(first).toMatchObject({ status: 201, json: { loanId: id } });
    expect((await request('POST', '/returns', { loanId: id, note: 'late' }, key)).text).toBe(
      first.text,
    );
    expect(await database.query('SELECT loan_id FROM returns')).toEqual([{ loan_id: id }]);
    const listed = await request('GET', `/returns?loanId=${id.toUpperCase()}`);
    expect(listed.text).toBe(`[${first.text}]`);
  });
});

describe('the document', () => {
  it('has the answer, the header fields and the failures of a create', async () => {
    const response = await fetch(`${url}/openapi.json`);
    const { paths } = (await response.json()) as {
      readonly paths: Record<string, { readonly post?: { readonly [name: string]: unknown } }>;
    };
    const create = paths['/tools']?.post as {
      readonly parameters: readonly object[];
      readonly requestBody: object;
      readonly responses: Record<string, { readonly headers?: object }>;
    };
    expect(create.parameters).toContainEqual(
      expect.objectContaining({ in: 'header', name: 'Idempotency-Key', required: false }),
    );
    expect(Object.keys(create.responses)).toEqual(expect.arrayContaining(['201', '422']));
    expect(Object.keys(create.responses['201']!.headers!)).toEqual(
      expect.arrayContaining(['Location', 'ETag']),
    );
    expect(JSON.stringify(create.requestBody)).toContain('"value":{"name":"Saw"}');
  });
});

describe('the tables', () => {
  it('are what the entities say', async () => {
    const schema = await schemaOf(AppModule);
    const dataSource = dataSourceFor({ identity: IDENTITY, schema }, database.url);
    await dataSource.initialize();
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    await dataSource.destroy();
    const differences = upQueries.map(({ query }) => query);
    // The names of these constraints are PostgreSQL's, not TypeORM's.
    expect(differences.filter((query) => !query.includes('CONSTRAINT'))).toEqual([]);
  });
});

describe('a repository', () => {
  class Chosen {
    @PrimaryColumn(INT64_COLUMN)
    @Int64Field({ description: 'Chosen.', example: 7 })
    readonly id!: bigint;
  }
  Entity('chosen')(Chosen);
  class ChosenDto extends DtoOf(Chosen) {}

  class Inexact {
    @PrimaryGeneratedColumn('identity', { type: 'bigint' })
    @Int64Field({ description: 'Read as text.', example: 7 })
    readonly id!: bigint;
  }
  Entity('inexact')(Inexact);
  class InexactDto extends DtoOf(Inexact) {}

  class Forgotten {
    @PrimaryGeneratedColumn('identity', INT64_COLUMN)
    @Int64Field({ description: 'The id.', example: 7 })
    readonly id!: bigint;

    @Column('text')
    readonly name!: string;
  }
  Entity('forgotten')(Forgotten);
  class ForgottenDto extends DtoOf(Forgotten) {}

  class Unclear {
    @PrimaryGeneratedColumn('identity', INT64_COLUMN)
    @Int64Field({ description: 'The id.', example: 7 })
    readonly id!: bigint;

    @Column('text')
    @TextField({ description: 'The name.', example: 'Saw' })
    @Exclude()
    readonly name!: string;
  }
  Entity('unclear')(Unclear);
  class UnclearDto extends DtoOf(Unclear) {}

  const notFound = () => new ServiceException(ERRORS.toolNotFound);
  const idTaken = () => new ServiceException(ERRORS.nameTaken);

  @Injectable()
  class GeneratedOfChosen extends GeneratedIdRepository<Chosen, ListParameters>(Chosen, {
    name: 'chosen',
    dto: ChosenDto,
    filters: {},
    notFound,
  }) {}

  @Injectable()
  class ChosenOfGenerated extends ResourceRepository<Tool, ListParameters>(Tool, {
    name: 'wrong tools',
    dto: ToolDto,
    filters: {},
    notFound,
    idTaken,
  }) {}

  @Injectable()
  class OfInexact extends GeneratedIdRepository<Inexact, ListParameters>(Inexact, {
    name: 'inexact',
    dto: InexactDto,
    filters: {},
    notFound,
  }) {}

  @Injectable()
  class OfForgotten extends GeneratedIdRepository<Forgotten, ListParameters>(Forgotten, {
    name: 'forgotten',
    dto: ForgottenDto,
    filters: {},
    notFound,
  }) {}

  @Injectable()
  class OfUnclear extends GeneratedIdRepository<Unclear, ListParameters>(Unclear, {
    name: 'unclear',
    dto: UnclearDto,
    filters: {},
    notFound,
  }) {}

  it.each([
    {
      name: 'neither a member nor internal',
      entity: Forgotten,
      repository: OfForgotten,
      why: 'Forgotten.name has a column, but no decorator of a property: add one, such as @TextField(), or @Exclude()',
    },
    {
      name: 'a member and internal',
      entity: Unclear,
      repository: OfUnclear,
      why: 'Unclear.name has @Exclude(), and the decorator of a property: remove one of them',
    },
  ] as const)('with a column that is $name is refused at the start', (wrong) => refuses(wrong));

  it.each([
    {
      name: 'chosen ids',
      entity: Chosen,
      repository: GeneratedOfChosen,
      why: 'Chosen.id: clients choose it',
    },
    {
      name: 'generated ids',
      entity: Tool,
      repository: ChosenOfGenerated,
      why: 'Tool.id: the database makes it',
    },
    {
      name: 'inexact ids',
      entity: Inexact,
      repository: OfInexact,
      why: 'Inexact.id: the column needs the options INT64_COLUMN',
    },
  ] as const)('of $name with the other kind of id is refused at the start', (wrong) =>
    refuses(wrong),
  );

  async function refuses({
    entity,
    repository,
    why,
  }: {
    readonly entity: Type;
    readonly repository: Type;
    readonly why: string;
  }): Promise<void> {
    const app = appOf([entity, Tool], [], { providers: [repository] });
    const other = await createTestDatabase();
    try {
      await expect(start(app, other)).rejects.toThrow(why);
    } finally {
      await other.drop();
    }
  }
});
