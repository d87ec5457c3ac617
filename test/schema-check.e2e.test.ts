import { Injectable, Module } from '@nestjs/common';
import { pino } from 'pino';
import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { constant } from '../src/config/secret-file.js';
import { readConfig, withDatabase } from '../src/config/config.js';
import { connect } from '../src/database/connect.js';
import { dataSourceOf, dataSourceOptions } from '../src/database/data-source.js';
import { requireSchema } from '../src/database/migrations/schema-check.js';
import { StartupError } from '../src/errors/startup.error.js';
import { defineErrors } from '../src/errors/error-kind.js';
import { HTTP_LIMITS } from '../src/http/server/limits.js';
import { Metrics } from '../src/observability/metrics.js';
import { NO_TRACER } from '../src/observability/tracer.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import { DtoOf } from '../src/resources/dto-of.js';
import type { Feature } from '../src/resources/feature.js';
import { INT64_COLUMN, Int64Field } from '../src/resources/int64.js';
import type { ListParameters } from '../src/resources/page-parameters.js';
import { Resources } from '../src/resources/resources.js';
import type { Resource } from '../src/resources/resources.js';
import { TextField } from '../src/resources/text.js';
import { startService } from '../src/service.js';
import type { Service } from '../src/service.js';
import { startPooler } from './support/pooler.js';
import { createTestDatabase } from './support/test-database.js';
import type { TestDatabase } from './support/test-database.js';
import { TOKEN } from './support/test-service.js';

// The next file of the same worker loads the modules anew, without the errors that this one defines.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

const ERRORS = defineErrors([80, 89], {
  labelTaken: { number: 40981, message: 'the label is taken', remedy: 'Choose another one' },
  shelfIdTaken: { number: 40982, message: 'the id is taken', remedy: 'Choose another one' },
  notFound: { number: 40480, message: 'there is no such shelf', remedy: 'Check the id' },
});

@Unique('shelves_label_key', ['label'])
@Entity('shelves')
class Shelf {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;

  @Column('text', { name: 'the "label"' })
  @TextField({ description: 'A text.' })
  readonly label!: string;
}

@Entity('pots', { schema: 'cellar' })
class Pot {
  @PrimaryColumn(INT64_COLUMN)
  readonly id!: bigint;
}

class ShelfDto extends DtoOf(Shelf) {}

let shelves: Resource<Shelf, ShelfDto, ListParameters>;

@Injectable()
class ShelvesService {
  constructor(resources: Resources) {
    shelves = resources.of<Shelf, ListParameters>(Shelf, {
      name: 'shelves',
      dto: ShelfDto,
      filters: {},
      idTaken: (id) => new PlantStoreError(ERRORS.shelfIdTaken, `${id} is taken`),
      notFound: (id) => new PlantStoreError(ERRORS.notFound, `there is no shelf ${id}`),
      constraints: { shelves_label_key: ERRORS.labelTaken },
    });
  }
}

@Module({ providers: [ShelvesService] })
class ShelvesModule {}

/** The statements of the only migration. */
let schema: readonly string[];

class CreateShelves implements MigrationInterface {
  readonly name = 'CreateShelves1795461082530';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of schema) await queryRunner.query(statement);
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

const SHELVES: Feature = {
  module: ShelvesModule,
  entities: [Shelf, Pot],
  migrations: [CreateShelves],
};

const TABLE = 'CREATE TABLE shelves (id bigint PRIMARY KEY, "the ""label""" text NOT NULL)';
const OTHER_SCHEMA = 'CREATE SCHEMA cellar';
const OTHER_TABLE = 'CREATE TABLE cellar.pots (id bigint PRIMARY KEY)';
const KEY = 'CREATE UNIQUE INDEX shelves_label_key ON shelves ("the ""label""")';
const COMPLETE = [TABLE, OTHER_SCHEMA, OTHER_TABLE, KEY];

const NO_CONSTRAINT =
  'Shelf: no table has a constraint or unique index "shelves_label_key": correct the name in `constraints` of the resource, or add the migration that creates it';
const MIGRATION =
  'add the migration that creates it, such as `npm run migration:generate -- NAME FEATURE` writes';
const NO_TABLE = `Pot: there is no table "cellar"."pots": ${MIGRATION}`;
const NO_COLUMN = `Shelf.label: the table "shelves" has no column "the "label"": ${MIGRATION}`;

let database: TestDatabase;
let log: Record<string, unknown>[];

beforeEach(async () => {
  database = await createTestDatabase();
  log = [];
});

afterEach(() => database.drop());

const observability = () => ({
  logger: pino(
    { level: 'info' },
    { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  ),
  metrics: new Metrics(),
  tracer: NO_TRACER,
});

function serve({ url = database.url, environment = {} } = {}): Promise<Service> {
  const settings = { AUTH_TOKEN: TOKEN, PORT: '0', MANAGEMENT_PORT: '0', DOCS_ENABLED: 'false' };
  return startService(
    withDatabase(readConfig({ ...settings, ...environment }), url),
    observability(),
    new AbortController().signal,
    HTTP_LIMITS,
    [SHELVES],
  );
}

async function start(options?: Parameters<typeof serve>[0]): Promise<void> {
  const service = await serve(options);
  await service.stop();
}

const failureOf = (work: Promise<void>) => work.then(() => undefined, String);
const warnings = () => log.filter(({ level }) => Number(level) >= 40);

describe('the start', () => {
  it('succeeds with all tables, columns and constraints, also behind a pooler', async () => {
    schema = COMPLETE;
    await start();
    const pooler = await startPooler(database.url);
    await start({ url: pooler.url });
    await pooler.stop();
    expect(warnings()).toEqual([]);
  });

  it('names each table, column and constraint that the database lacks', async () => {
    schema = ['CREATE TABLE shelves (id bigint PRIMARY KEY, label text)'];
    expect(await failureOf(start())).toBe(
      `StartupError: ${[NO_COLUMN, NO_TABLE, NO_CONSTRAINT].join('\n')}`,
    );
  });

  it('names a column that was dropped', async () => {
    schema = [
      ...COMPLETE,
      'ALTER TABLE shelves DROP "the ""label""", ADD CONSTRAINT shelves_label_key CHECK (id > 0)',
    ];
    expect(await failureOf(start())).toBe(`StartupError: ${NO_COLUMN}`);
  });

  it.each([
    ['a unique key', 'UNIQUE ("the ""label""")'],
    ['a check', 'CHECK ("the ""label""" <> \'\')'],
    ['a foreign key', 'FOREIGN KEY (id) REFERENCES cellar.pots (id)'],
    ['an exclusion', 'EXCLUDE (id WITH =)'],
  ])('finds %s', async (_, constraint) => {
    const added = `ALTER TABLE shelves ADD CONSTRAINT shelves_label_key ${constraint}`;
    schema = [TABLE, OTHER_SCHEMA, OTHER_TABLE, added];
    await start();
    expect(warnings()).toEqual([]);
  });

  it('finds the constraint of another table, also in the schema of an entity', async () => {
    const key = 'CONSTRAINT shelves_label_key REFERENCES shelves';
    schema = [TABLE, OTHER_SCHEMA, OTHER_TABLE, `CREATE TABLE cellar.lids (id bigint ${key})`];
    await start();
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['an index that is not unique', 'CREATE INDEX shelves_label_key ON shelves (id)'],
    [
      'a constraint elsewhere',
      'CREATE TABLE attic.lids (id int CONSTRAINT shelves_label_key UNIQUE)',
    ],
  ])('does not take %s for the constraint', async (_, statement) => {
    schema = [TABLE, OTHER_SCHEMA, OTHER_TABLE, 'CREATE SCHEMA attic', statement];
    expect(await failureOf(start())).toBe(`StartupError: ${NO_CONSTRAINT}`);
  });

  it('only warns of what a newer release has renamed or dropped, so that this one can be rolled back to', async () => {
    schema = COMPLETE;
    await start();
    await database.query('ALTER INDEX shelves_label_key RENAME TO shelves_text_key');
    expect(await failureOf(start())).toBe(`StartupError: ${NO_CONSTRAINT}`);
    await database.query(
      "INSERT INTO plant_store_migrations (timestamp, name) VALUES (1795461082531, 'RenameKey1795461082531')",
    );
    log = [];
    await start();
    expect(warnings()).toMatchObject([
      { missing: [NO_CONSTRAINT], newer: ['RenameKey1795461082531'], level: 40 },
    ]);
  });

  it('only warns if another process migrates', async () => {
    schema = COMPLETE.slice(0, 3);
    await expect(start()).rejects.toThrow(StartupError);
    log = [];
    await start({ environment: { DATABASE_MIGRATE_ON_START: 'false' } });
    expect(warnings()).toMatchObject([{ missing: [NO_CONSTRAINT], newer: [] }]);
  });
});

describe('a violation', () => {
  it('of a unique key besides the id fails as it is declared', async () => {
    schema = COMPLETE;
    const service = await serve();
    const group = [1n, 2n, 3n].map((id) => shelves.creates.create({ id, label: `${id % 2n}` }));
    const outcomes = await Promise.allSettled(group);
    expect(outcomes).toMatchObject([
      { value: 'created' },
      { value: 'created' },
      { reason: { kind: ERRORS.labelTaken } },
    ]);
    const change = shelves.changes.patch(2n, { label: '1' });
    await expect(change).rejects.toMatchObject({ kind: ERRORS.labelTaken });
    await service.stop();
  });

  it('by a removal, of the foreign key of another table, fails as the resource that removes declares', async () => {
    const key = 'CONSTRAINT shelves_label_key REFERENCES shelves';
    schema = [TABLE, OTHER_SCHEMA, OTHER_TABLE, `CREATE TABLE lids (shelf_id bigint ${key})`];
    const service = await serve();
    await shelves.creates.create({ id: 1n, label: '' });
    await database.query('INSERT INTO lids VALUES (1)');
    const removal = shelves.changes.remove(1n);
    await expect(removal).rejects.toMatchObject({ kind: ERRORS.labelTaken });
    await service.stop();
  });
});

describe('the comparison of the schema', () => {
  let dataSource: DataSource;

  beforeEach(async () => {
    const { logger, ...others } = observability();
    dataSource = dataSourceOf(
      dataSourceOptions({ url: constant(database.url), poolMax: 1 }, SHELVES, {
        ...others,
        logger,
      }),
    );
    await connect(dataSource, { log: logger, signal: new AbortController().signal });
  });

  afterEach(() => dataSource.destroy());

  it('is one statement', async () => {
    for (const statement of COMPLETE) await database.query(statement);
    const query = vi.spyOn(dataSource, 'query');
    const { logger } = observability();
    await requireSchema(dataSource, [], { log: logger, isMigrating: true });
    expect(query).toHaveBeenCalledOnce();
  });

  it('does not end the start if the database goes away before it', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`).catch(() => []);
    await dataSource.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => []);
    const { logger } = observability();
    await requireSchema(dataSource, [], { log: logger, isMigrating: true });
    expect(warnings()).toMatchObject([
      {
        reason: expect.any(String),
        msg: 'cannot compare the schema of the database with the entities',
      },
    ]);
  });
});
