import { pino } from 'pino';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import type { Type } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/database/connect.js';
import { generateMigration } from '../../src/database/migrations/migration-file.js';
import { setTableNeeds } from '../../src/database/table-needs.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { sortIndexesOf } from '../../src/resources/reads/sort-indexes.js';
import { INT64_COLUMN } from '../../src/resources/properties/int64.js';
import { Sortable } from '../../src/resources/reads/sort.js';
import { dataSourceFor } from '../support/data-source.js';
import { IDENTITY } from '../support/identity.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

class Row {
  @PrimaryColumn({ ...INT64_COLUMN, primaryKeyConstraintName: 'samples_pkey' })
  readonly id!: bigint;
}

@Entity('samples')
class Sample extends Row {
  @Column('text')
  readonly name!: string;

  @Column('integer', { nullable: true })
  readonly size!: number | null;
}

@Entity('samples')
class SortedSample extends Row {
  @Sortable()
  @Column('text')
  readonly name!: string;

  @Sortable()
  @Column('integer', { nullable: true })
  readonly size!: number | null;
}

@Entity('shelves')
@Check('shelves_level_check', '"level" > 0')
class Shelf {
  @PrimaryColumn({ ...INT64_COLUMN, primaryKeyConstraintName: 'shelves_pkey' })
  readonly id!: bigint;

  @Sortable()
  @Column('integer')
  readonly level!: number;
}

const CREATE_SAMPLES =
  'CREATE TABLE samples (id bigint NOT NULL, name text NOT NULL, size integer, CONSTRAINT samples_pkey PRIMARY KEY (id))';
const CREATE_SHELVES =
  'CREATE TABLE shelves (id bigint NOT NULL, level integer NOT NULL, CONSTRAINT shelves_pkey PRIMARY KEY (id), CONSTRAINT shelves_level_check CHECK ("level" > 0))';

const BY_NAME =
  'CREATE INDEX "samples_name_sort_idx" ON "samples"  (left("name", 100) COLLATE "C", "id")';
const BY_SIZE = 'CREATE INDEX "samples_size_sort_idx" ON "samples"  ("size", "id")';
const BY_LEVEL = 'CREATE INDEX "shelves_level_sort_idx" ON "shelves"  ("level", "id")';

let database: TestDatabase;
let dataSource: DataSource | undefined;
let reported: string[];

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await dataSource?.destroy();
  dataSource = undefined;
  await database.drop();
});

interface Draft {
  readonly up: readonly string[];
  readonly down: readonly string[];
  readonly source: string | undefined;
  readonly migration: Type<MigrationInterface>;
}

/** The migration of the module of an entity, beside other modules. */
async function draftOf(
  entity: Type<object>,
  others: readonly Type<object>[] = [],
  migrations: readonly Type<MigrationInterface>[] = [],
): Promise<Draft> {
  await dataSource?.destroy();
  reported = [];
  const entities = [entity, ...others];
  dataSource = dataSourceFor(
    { identity: IDENTITY, schema: { entities, migrations } },
    database.url,
  );
  const connected = dataSource;
  await connect(connected, {
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  });
  const draft = await generateMigration(connected, 'Change', 1, (line) => reported.push(line), {
    isOwn: (each) => each === entity,
    indexes: entities.flatMap((each) =>
      sortIndexesOf(connected, new EntityColumns(connected, each), each),
    ),
  });
  const [up = '', down = ''] = draft?.source.split('async down') ?? [];
  class Change1 implements MigrationInterface {
    readonly name = 'Change1';

    async up(queryRunner: QueryRunner): Promise<void> {
      for (const statement of statementsIn(up)) await queryRunner.query(statement);
    }

    async down(): Promise<void> {}
  }
  // As in a file: the text of the method has the statements.
  Change1.prototype.up.toString = () => up;
  return {
    up: statementsIn(up),
    down: statementsIn(down),
    source: draft?.source,
    migration: Change1,
  };
}

function statementsIn(source: string): string[] {
  return [...source.matchAll(/query\(`(.*)`\)/g)].map(([, statement = '']) => statement);
}

async function perform(statements: readonly string[]): Promise<void> {
  for (const statement of statements) await database.query(statement);
}

describe('@Sortable() brings its index', () => {
  it('with a new table', async () => {
    const { up, down } = await draftOf(SortedSample);
    expect(up).toEqual([expect.stringContaining('CREATE TABLE "samples"'), BY_NAME, BY_SIZE]);
    expect(reported).toEqual([]);
    await perform(up);
    expect((await draftOf(SortedSample)).up).toEqual([]);
    expect(reported).toEqual([]);
    await perform(down);
    expect((await draftOf(SortedSample)).up).toHaveLength(3);
  });

  it('to a table that exists, and says that it locks the table', async () => {
    await database.query(CREATE_SAMPLES);
    const { up, down } = await draftOf(SortedSample);
    expect(up).toEqual([BY_NAME, BY_SIZE]);
    expect(reported).toEqual([
      expect.stringMatching(/locks "samples" .* "samples_name_sort_idx".*createIndexOnline/),
      expect.stringMatching(/locks "samples" .* "samples_size_sort_idx".*createIndexOnline/),
    ]);
    await perform(up);
    await perform(down);
    expect((await draftOf(SortedSample)).up).toEqual([BY_NAME, BY_SIZE]);
  });

  it('unless one of any name is there, which it never drops', async () => {
    await perform([
      CREATE_SAMPLES,
      'CREATE INDEX by_name ON samples (left(name, 100) COLLATE "C", id)',
      'CREATE INDEX "IDX_0123456789abcdef0123456789" ON samples (size DESC, id DESC)',
    ]);
    expect((await draftOf(SortedSample)).up).toEqual([]);
    expect(reported).toEqual([]);
  });

  it('unless the entity declares one to TypeORM', async () => {
    @Entity('shelves')
    @Index('shelves_level_id_idx', ['level', 'id'])
    class Indexed extends Shelf {}
    const { up } = await draftOf(Indexed);
    expect(up.filter((each) => each.includes('INDEX'))).toEqual([
      expect.stringContaining('"shelves_level_id_idx"'),
    ]);
    await perform(up);
    expect((await draftOf(Indexed)).up).toEqual([]);
  });

  it('also beside a partial one, which serves only some rows', async () => {
    @Entity('shelves')
    @Index('shelves_high_idx', ['level', 'id'], { where: '"level" > 5' })
    class High extends Shelf {}
    const { up } = await draftOf(High);
    expect(up.filter((each) => each.includes('INDEX'))).toEqual([
      expect.stringContaining('"shelves_high_idx"'),
      BY_LEVEL,
    ]);
    await perform(up);
    expect((await draftOf(High)).up).toEqual([]);
  });

  it('again when the key is dropped and added', async () => {
    @Entity('shelves')
    class Labelled {
      @PrimaryColumn('uuid', { primaryKeyConstraintName: 'shelves_pkey' })
      readonly id!: string;

      @Sortable()
      @Column('integer')
      readonly level!: number;
    }
    await perform([CREATE_SHELVES, BY_LEVEL]);
    const { up } = await draftOf(Labelled);
    expect(up).toContain('ALTER TABLE "shelves" DROP COLUMN "id"');
    expect(up.at(-1)).toBe(BY_LEVEL);
    await perform(up);
    expect((await draftOf(Labelled)).up.filter((each) => each.includes('INDEX'))).toEqual([]);
  });

  it('and takes it away, if a draft has created it, and nothing needs it', async () => {
    const { up, migration } = await draftOf(SortedSample);
    await perform(up);
    const without = await draftOf(Sample, [], [migration]);
    expect(without.up.toSorted()).toEqual([
      'DROP INDEX "samples_name_sort_idx"',
      'DROP INDEX "samples_size_sort_idx"',
    ]);
    await perform(without.up);
    expect((await draftOf(Sample, [], [migration])).up).toEqual([]);
    await perform(without.down);
    expect((await draftOf(SortedSample, [], [migration])).up).toEqual([]);
  });

  it('again for a column that is dropped and added', async () => {
    @Entity('samples')
    class OtherType extends Row {
      @Sortable()
      @Column('text')
      readonly name!: string;

      @Sortable()
      @Column('uuid', { nullable: true })
      readonly size!: string | null;
    }
    await perform((await draftOf(SortedSample)).up);
    const { up } = await draftOf(OtherType);
    expect(up).toEqual([
      'ALTER TABLE "samples" DROP COLUMN "size"',
      'ALTER TABLE "samples" ADD "size" uuid',
      BY_SIZE,
    ]);
    await perform(up);
    expect((await draftOf(OtherType)).up).toEqual([]);
  });

  it('which stays when its column is renamed', async () => {
    @Entity('samples')
    class Renamed extends Row {
      @Sortable()
      @Column('text')
      readonly title!: string;

      @Sortable()
      @Column('integer', { nullable: true })
      readonly size!: number | null;
    }
    await perform((await draftOf(SortedSample)).up);
    const { up } = await draftOf(Renamed);
    expect(up).toEqual(['ALTER TABLE "samples" RENAME COLUMN "name" TO "title"']);
    expect(reported).toEqual([]);
    await perform(up);
    expect((await draftOf(Renamed)).up).toEqual([]);
  });
});

describe('a migration of a module', () => {
  it('leaves the tables of other modules as they are, with their indexes and checks', async () => {
    await perform([
      CREATE_SAMPLES,
      CREATE_SHELVES,
      BY_LEVEL,
      'ALTER TABLE shelves ADD UNIQUE (level)',
    ]);
    expect((await draftOf(SortedSample, [Shelf])).up).toEqual([BY_NAME, BY_SIZE]);
    expect(reported).toHaveLength(2);
  });

  it('says what else differs', async () => {
    await perform([
      CREATE_SAMPLES,
      CREATE_SHELVES,
      'ALTER TABLE shelves DROP CONSTRAINT shelves_level_check',
    ]);
    expect((await draftOf(Sample, [Shelf])).up).toEqual([]);
    expect(reported).toEqual([
      expect.stringMatching(
        /^another module .*: ALTER TABLE "shelves" ADD CONSTRAINT "shelves_level_check"/,
      ),
      `another module differs from its tables, and needs a migration of its own: ${BY_LEVEL}`,
    ]);
  });
});

it('a table that needs more than its columns gets it with its creation, and only then', async () => {
  @Entity('moves')
  class Move {
    @PrimaryColumn('bigint', { primaryKeyConstraintName: 'moves_pkey' })
    readonly id!: string;
  }
  setTableNeeds(Move, (table) => ({
    creation: {
      names: ['createMoves', 'dropMoves'],
      from: '@team/moves',
      up: `await createMoves(queryRunner, '${table}')`,
      down: `await dropMoves(queryRunner, '${table}')`,
    },
  }));
  const { up, source } = await draftOf(Move);
  expect(source).toMatch(
    /^import \{ createMoves, dropMoves \} from '@team\/moves';\n[^]*CREATE TABLE "moves".*\n *await createMoves\(queryRunner, 'moves'\);\n[^]*async down.*\n *await dropMoves\(queryRunner, 'moves'\);\n.*DROP TABLE "moves"/,
  );
  await perform(up);
  expect((await draftOf(Move)).source).toBeUndefined();
});
