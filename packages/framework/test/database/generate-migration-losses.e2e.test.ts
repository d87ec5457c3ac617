import { pino } from 'pino';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DataSource } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/database/connect.js';
import type { DatabaseSchema } from '../../src/database/data-source.js';
import { LossError, generateMigration } from '../../src/database/migrations/migration-file.js';
import { dataSourceFor } from '../support/data-source.js';
import { IDENTITY } from '../support/identity.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

class Row {
  @PrimaryColumn('bigint', { primaryKeyConstraintName: 'samples_pkey' })
  readonly id!: string;
}

@Entity('samples')
class Sample extends Row {
  @Column('text')
  readonly name!: string;

  @Column('integer', { nullable: true })
  readonly size!: number | null;
}

@Entity('samples')
class WithoutName extends Row {
  @Column('integer', { nullable: true })
  readonly size!: number | null;
}

@Entity('samples')
class WithOtherName extends WithoutName {
  @Column('uuid')
  readonly name!: string;
}

const CREATE =
  'CREATE TABLE samples (id bigint NOT NULL, name text NOT NULL, size integer, CONSTRAINT samples_pkey PRIMARY KEY (id))';

/** What PostgreSQL drops with the column `name`. */
const GOES = [
  [
    'index "samples_name_idx" of "samples"',
    'an index on an expression only',
    'CREATE INDEX samples_name_idx ON samples (lower(name))',
  ],
  [
    'index "samples_small_idx" of "samples"',
    'an index with the column in its condition only',
    `CREATE INDEX samples_small_idx ON samples ((size + 1)) WHERE name <> ''`,
  ],
  [
    'constraint "samples_name_check" of "samples"',
    'a CHECK of two columns',
    'ALTER TABLE samples ADD CONSTRAINT samples_name_check CHECK (length(name) > size)',
  ],
  [
    'statistics object public.samples_stats',
    'statistics',
    'CREATE STATISTICS samples_stats ON name, size FROM samples',
  ],
  [
    'sequence public.names',
    'a sequence of the column',
    'CREATE SEQUENCE names OWNED BY samples.name',
  ],
] as const;

/** What keeps PostgreSQL from dropping the column `name`. */
const NEEDS = [
  [
    'view public.long_samples',
    'CREATE VIEW long_samples AS SELECT id FROM samples WHERE length(name) > 7',
  ],
  [
    'materialized view public."Names"',
    'CREATE MATERIALIZED VIEW "Names" AS SELECT name FROM samples',
  ],
  [
    'trigger same on public.samples',
    'CREATE TRIGGER same BEFORE UPDATE OF name ON samples FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
  ],
  [
    'trigger named on public.samples',
    `CREATE TRIGGER named BEFORE UPDATE ON samples FOR EACH ROW WHEN (OLD.name <> '') EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
  ],
  ['policy own on public.samples', 'CREATE POLICY own ON samples USING (name = current_user)'],
  [
    'function public.names()',
    'CREATE FUNCTION names() RETURNS SETOF text BEGIN ATOMIC SELECT name FROM samples; END',
  ],
  [
    'table constraint others_name_fkey on public.others',
    'ALTER TABLE samples ADD CONSTRAINT samples_name_key UNIQUE (name); CREATE TABLE others (name text CONSTRAINT others_name_fkey REFERENCES samples (name))',
  ],
  [
    'generated column "code" of "samples"',
    'ALTER TABLE samples ADD code text GENERATED ALWAYS AS (upper(name)) STORED',
  ],
  [
    'constraint "samples_name_excl" of "samples"',
    'ALTER TABLE samples ADD CONSTRAINT samples_name_excl EXCLUDE USING btree (lower(name) WITH =)',
  ],
] as const;

let database: TestDatabase;
let dataSource: DataSource | undefined;
let reported: string[];

beforeEach(async () => {
  database = await createTestDatabase();
  await database.query(CREATE);
  reported = [];
});

afterEach(async () => {
  await dataSource?.destroy();
  dataSource = undefined;
  await database.drop();
});

/** The statements of the migration. */
async function generated(
  entity: DatabaseSchema['entities'][number],
): Promise<readonly string[] | undefined> {
  await dataSource?.destroy();
  dataSource = dataSourceFor(
    { identity: IDENTITY, schema: { entities: [entity], migrations: [] } },
    database.url,
  );
  const { signal } = new AbortController();
  await connect(dataSource, { log: pino({ level: 'silent' }), signal });
  const migration = await generateMigration(dataSource, 'ChangeName', 1, (line) => {
    reported.push(line);
  });
  const up = migration?.source.split('async down')[0] ?? '';
  return migration && [...up.matchAll(/query\(`(.*)`\)/g)].map(([, statement = '']) => statement);
}

/** The lines of the error with which the migration is not generated. */
async function rejection(entity: DatabaseSchema['entities'][number]): Promise<readonly string[]> {
  const error: unknown = await generated(entity).catch((reason: unknown) => reason);
  if (!(error instanceof LossError)) throw error;
  expect(error.exitCode).toBe(2);
  return error.message.split('\n').toSorted();
}

describe('what a column takes with it', () => {
  it.each(GOES)('is named, and not lost with a new type: %s', async (what, _, statement) => {
    await database.query(statement);
    await expect(rejection(WithOtherName)).resolves.toEqual([
      `a new type of the column "name" of "samples" would drop the ${what}, which no entity declares: write a migration by hand, with ALTER TABLE "samples" ALTER COLUMN "name" TYPE … USING …`,
    ]);
  });

  it.each(GOES)('is named when the column goes: %s', async (what, _, statement) => {
    await database.query(statement);
    const up = await generated(WithoutName);
    expect(up).toEqual(['ALTER TABLE "samples" DROP COLUMN "name"']);
    expect(reported).toContain(
      `no entity declares the ${what}, and it goes with the column "name"`,
    );
    expect(reported).toHaveLength(2);
    for (const each of up ?? []) await database.query(each);
    reported = [];
    await expect(generated(WithoutName)).resolves.toBeUndefined();
    expect(reported).toEqual([]);
  });

  it.each([
    ['comment', `COMMENT ON COLUMN samples.name IS 'of the label'`],
    ['collation', 'ALTER TABLE samples ALTER name TYPE text COLLATE "C"'],
    ['default', `ALTER TABLE samples ALTER name SET DEFAULT 'none'`],
    ['privileges', 'GRANT SELECT (name) ON samples TO PUBLIC'],
    ['statistics target', 'ALTER TABLE samples ALTER name SET STATISTICS 500'],
    ['options', 'ALTER TABLE samples ALTER name SET (n_distinct = 5)'],
  ])('is its own: its %s is not lost with a new type', async (what, statement) => {
    await database.query(statement);
    await expect(rejection(WithOtherName)).resolves.toEqual([
      expect.stringContaining(`would drop the ${what} of the column "name" of "samples", which`),
    ]);
  });

  it('is named in one line each', async () => {
    await database.query(`${GOES[0][2]}; ${GOES[2][2]}; COMMENT ON COLUMN samples.name IS 'k'`);
    await expect(rejection(WithOtherName)).resolves.toEqual([
      expect.stringContaining('the comment of'),
      expect.stringContaining('samples_name_check'),
      expect.stringContaining('samples_name_idx'),
    ]);
  });

  it('is made again if an entity declares it', async () => {
    @Entity('samples')
    @Index('samples_both_idx', ['name', 'size'])
    @Index('samples_label_idx', ['name'])
    @Check('samples_name_check', '"name"::text <> \'\'')
    class Declared extends WithoutName {
      @Column('uuid', { comment: 'of the label', default: () => 'gen_random_uuid()' })
      readonly name!: string;
    }
    await database.query(
      `COMMENT ON COLUMN samples.name IS 'of the label'; CREATE INDEX samples_both_idx ON samples (name, size);
       CREATE INDEX samples_label_idx ON samples (name); ALTER TABLE samples ALTER name SET DEFAULT 'none';
       ALTER TABLE samples ADD CONSTRAINT samples_name_check CHECK (name::text <> '')`,
    );
    for (const each of (await generated(Declared)) ?? []) await database.query(each);
    expect(reported).toEqual([expect.stringContaining('with its values')]);
    await expect(generated(Declared)).resolves.toBeUndefined();
  });
});

describe('what needs a column', () => {
  it.each(NEEDS)('keeps a migration from dropping it: %s', async (what, statement) => {
    await database.query(statement);
    for (const entity of [WithoutName, WithOtherName]) {
      const lines = await rejection(entity);
      expect(lines.join('\n')).toContain(
        `the ${what} needs the column "name" of "samples": drop it in a migration by hand before this one drops the column`,
      );
      // It is true.
      await expect(database.query('ALTER TABLE samples DROP COLUMN name')).rejects.toThrow(
        'cannot drop column',
      );
    }
    // No other kind of migration concerns it.
    reported = [];
    await expect(generated(Sample)).resolves.toBeUndefined();
  });
});

describe('what is left out of a migration', () => {
  it.each([
    ['index "samples_name_idx"', GOES[0][2], 'DROP INDEX "samples_name_idx"'],
    ['index "samples_small_idx"', GOES[1][2], 'DROP INDEX "samples_small_idx"'],
    [
      'constraint "samples_name_excl"',
      'ALTER TABLE samples ADD CONSTRAINT samples_name_excl EXCLUDE USING btree (lower(name) WITH =)',
      'ALTER TABLE "samples" DROP CONSTRAINT "samples_name_excl"',
    ],
    [
      'constraint "samples_check"',
      'ALTER TABLE samples ADD CONSTRAINT samples_check CHECK (current_user IS NOT NULL)',
      'ALTER TABLE "samples" DROP CONSTRAINT "samples_check"',
    ],
  ])('is named: %s', async (what, statement, toDrop) => {
    await database.query(statement);
    await expect(generated(Sample)).resolves.toBeUndefined();
    expect(reported).toEqual([
      `no entity declares the ${what} of "samples", so it stays: a migration drops it with ${toDrop}`,
    ]);
    await database.query(toDrop);
    reported = [];
    await expect(generated(Sample)).resolves.toBeUndefined();
    expect(reported).toEqual([]);
  });

  it('is not what an entity declares without letting TypeORM make it', async () => {
    @Entity('samples')
    @Index('samples_name_idx', { synchronize: false })
    class Declared extends Sample {}
    await database.query(GOES[0][2]);
    await expect(generated(Declared)).resolves.toBeUndefined();
    expect(reported).toEqual([]);
  });
});
