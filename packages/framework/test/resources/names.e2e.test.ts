import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import type { OnModuleInit, Type } from '@nestjs/common';
import { ChangeOf, recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { createChanges } from '@resource-service/changes/migrations';
import { escapeIdentifier } from 'pg';
import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import type { BodyLine } from '../../src/http/body/body-lines.js';
import type { PageParameters } from '../../src/http/responses/page.js';
import {
  DtoOf,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  isEqual,
  ResourceRepository,
  ServiceException,
  Sortable,
  TextField,
  UUID_COLUMN,
  UuidField,
} from '../../src/index.js';
import type { Actor, Filled } from '../../src/index.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { dataSourceFor } from '../support/data-source.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { PATIENT } from '../support/patience.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';

/** What the sources of the statements give a name to. */
function namesInSql(): readonly string[] {
  const folders = ['packages/framework/src/resources', 'packages/changes/src'];
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true }).map((path) => join(folder, String(path))),
    )
    .filter((path) => path.endsWith('.ts') && !/frozen|migrations/.test(path))
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return Array.from(text.matchAll(/\bAS ([a-z_][\w$]*)/g), ([, name]) => name!);
    });
}

/** Words of SQL, of the service, and names that must be quoted. */
const WORDS = `n t i k p1 p2 row rows value values key keys ord ordinality wanted stored recorded excluded new old before changed
  page found counted free created kind time position principal request_id by_principal by_request_id is_long _is_long _wanted
  _size _number _value _json row_bytes bytes_before rows_found table user order group limit offset select from where returning
  end case null true current_user ctid_ now count sum text bigint entity name rs_ samples requestId
  last most before bound pruned incarnation known random begun horizon newest gap pruned_to jumped_to is_held is_writable is_old`;
const ALL = [
  ...new Set([
    ...WORDS.split(/\s+/),
    ...namesInSql(),
    'A b',
    'Ä',
    'with "quotes"',
    "it's",
    '$1',
    ':id',
    '?',
    'a.b',
  ]),
].filter((name) => !name.startsWith('rs__') && name !== 'id');

/** Those that lists are sorted by. */
const SORTED = ['value', '_value', 'page', 'created', 'n', 'A b', 'select'];

/** Records have columns of these names, so there the content has others. */
const OF_RECORDS = new Set(['position', 'time', 'kind', 'principal', 'request_id']);

const ERRORS = errorsOf({
  taken: { number: 40980, message: 'the id is taken', remedy: 'Choose another one' },
  missing: { number: 40480, message: 'there is no such row', remedy: 'Check the id' },
});

const ACTOR = { principal: { kind: 'jwt', id: 'ada' }, requestId: 'r' } as unknown as Actor;

type Row = Record<string, string> & { readonly id: never };
interface Query extends PageParameters<bigint> {
  readonly [name: string]: unknown;
}

/** Adds a column for each name. */
function columnsOf(entity: Type, names: readonly string[]): void {
  for (const name of names) {
    Column('text', { name, nullable: true })(entity.prototype as object, name);
    TextField({ description: 'A text.', isOptional: true })(entity.prototype as object, name);
    if (SORTED.includes(name)) Sortable()(entity.prototype as object, name);
  }
}

const sqlOf = (table: string, id: string, names: readonly string[]) => {
  const quoted = escapeIdentifier(table);
  return [
    `CREATE TABLE ${quoted} (id ${id}, ${names.map((name) => `${escapeIdentifier(name)} text`).join(', ')})`,
    ...SORTED.filter((name) => names.includes(name)).map(
      (name) => `CREATE INDEX ON ${quoted} (left(${escapeIdentifier(name)}, 100) COLLATE "C", id)`,
    ),
  ];
};

const entities: Type[] = [];
const migrations: Type<MigrationInterface>[] = [];
const providers: Type[] = [];

/** Makes a table with these columns, and its records. */
function declare(table: string, { isGenerated, hasChanges }: Options): void {
  @Entity(table)
  class Sample {
    declare readonly id: never;
  }
  const prototype = Sample.prototype as object;
  const key = isGenerated ? UUID_COLUMN : INT64_COLUMN;
  PrimaryColumn(key)(prototype, 'id');
  (isGenerated ? UuidField : Int64Field)({ description: 'Its id.' })(prototype, 'id');
  columnsOf(Sample, ALL);
  class SampleDto extends DtoOf(Sample) {}

  const changes = `changes_${providers.length}`;
  class SampleChange extends (hasChanges ? ChangeOf(Sample) : Object) {}
  if (hasChanges) Entity(changes)(SampleChange);
  const sql = sqlOf(
    table,
    isGenerated ? 'uuid PRIMARY KEY DEFAULT uuid_v7()' : 'bigint PRIMARY KEY',
    ALL,
  );
  const stamp = 1_795_700_000_000 + providers.length;
  const create = {
    up: async (queryRunner: QueryRunner): Promise<void> => {
      for (const statement of sql) await queryRunner.query(statement);
      if (!hasChanges) return;
      const copied = ALL.map((name) => (OF_RECORDS.has(name) ? `content_${name}` : name));
      const copies = copied.map((name) => `${escapeIdentifier(name)} text`).join(', ');
      await queryRunner.query(`CREATE TABLE ${escapeIdentifier(changes)} (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
        id ${isGenerated ? 'uuid' : 'bigint'} NOT NULL, ${copies})`);
      await createChanges(queryRunner, { table, changes });
    },
    down: () => Promise.resolve(),
  };
  const Create = class {
    readonly name = `Create${stamp}`;
    readonly up = create.up;
    readonly down = create.down;
  };
  const options = {
    name: table,
    dto: SampleDto,
    filters: Object.fromEntries(ALL.map((name) => [`with ${name}`, isEqual(name)])),
    idTaken: () => new ServiceException(ERRORS.taken),
    notFound: () => new ServiceException(ERRORS.missing),
    ...(hasChanges && { changes: recordChanges(SampleChange as never, 'sample') }),
  };
  const Base = (isGenerated ? GeneratedIdRepository : ResourceRepository) as unknown as (
    entity: Type,
    options: object,
  ) => Type;
  @Injectable()
  class Samples extends Base(Sample, options) implements OnModuleInit {
    onModuleInit(): void {
      repositories.set(table, this as unknown as Repository);
    }
  }
  entities.push(Sample, ...(hasChanges ? [SampleChange] : []));
  migrations.push(Create);
  providers.push(Samples);
}

type Repository = InstanceType<
  ReturnType<typeof ResourceRepository<{ id: bigint } & object, Query, Feed>>
> & { create(content: object, context?: object): Promise<Row> };

const repositories = new Map<string, Repository>();

interface Options {
  readonly isGenerated: boolean;
  readonly hasChanges: boolean;
}

const TABLES: readonly (readonly [string, Options])[] = [
  ['stored', { isGenerated: false, hasChanges: true }],
  ['excluded', { isGenerated: false, hasChanges: false }],
  ['changed', { isGenerated: true, hasChanges: true }],
  ['it"s "A b', { isGenerated: true, hasChanges: false }],
];
for (const [table, options] of TABLES) declare(table, options);

/** With the names of the statement that advances the sequence. */
@Entity('counted')
class Counted {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({ description: 'A text.' })
  readonly last!: string;

  @Column('text')
  @TextField({ description: 'A text.' })
  readonly name!: string;

  @Column('text')
  @TextField({ description: 'A text.' })
  readonly until!: string;
}

@Injectable()
class CountedRepository
  extends GeneratedIdRepository(Counted, {
    name: 'counted',
    dto: DtoOf(Counted),
    filters: {},
    notFound: () => new ServiceException(ERRORS.missing),
  })
  implements OnModuleInit
{
  onModuleInit(): void {
    repositories.set('counted', this as unknown as Repository);
  }
}

entities.push(Counted);
migrations.push(
  migrationOf(
    `CREATE TABLE counted (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, last text NOT NULL,
      name text NOT NULL, until text NOT NULL)`,
  ),
);
providers.push(CountedRepository);

const service = runningService(appOf(entities, migrations, { providers }), {}, PATIENT);

beforeEach(() => service.database.empty());

async function* linesOf(rows: readonly object[]): AsyncGenerator<readonly BodyLine[]> {
  yield rows.map((row, at) => {
    const bytes = Buffer.from(
      JSON.stringify(row, (_, value: unknown) =>
        typeof value === 'bigint' ? Number(value) : value,
      ),
    );
    return { number: at + 1, length: bytes.length, bytes };
  });
}

async function textOf(lines: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of lines) text += part;
  return text;
}

describe.each(TABLES)(
  'a table "%s", whose columns have the names of statements',
  (table, { isGenerated, hasChanges }) => {
    const rows = () => repositories.get(table)!;
    const context = { actor: ACTOR };
    /** Another text in each column, so that none can be taken for another one. */
    const contentOf = (n: number): Record<string, string> =>
      Object.fromEntries(ALL.map((name, at) => [name, `${name} ${at} ${n}`]));

    const store = (contents: readonly Record<string, string>[]): Promise<readonly Row[]> =>
      Promise.all(
        contents.map((content, n) =>
          rows().create({ ...(!isGenerated && { id: BigInt(n) }), ...content }, context),
        ),
      );

    const create = (numbers: readonly number[]) => store(numbers.map(contentOf));

    it('stores and shows its rows', async () => {
      const numbers = Array.from({ length: 40 }, (_, n) => n);
      const created = await create(numbers);
      for (const [n, row] of created.entries()) {
        expect(row).toMatchObject(contentOf(n));
        expect(await rows().find(row.id)).toEqual(row);
      }
      const { items } = await rows().list({ limit: 50 });
      expect(items.map((item) => JSON.parse(item) as unknown)).toHaveLength(40);
      const exported = await textOf(rows().export({}, new AbortController().signal));
      expect(exported.trim().split('\n')).toEqual(items);
    });

    it('is found by each column, alone and beside others', async () => {
      const wanted = contentOf(0);
      const other = contentOf(1);
      // Each row but the first differs in one column only, so that the filter of each column is needed.
      const stored = await store([
        wanted,
        ...ALL.map((name) => Object.assign(contentOf(0), { [name]: other[name]! })),
      ]);
      const filters = Object.fromEntries(ALL.map((name) => [`with ${name}`, wanted[name]]));
      const ids = stored.map(({ id }) => id);
      // The second one shares no statement with others.
      const found = await Promise.all(
        [{}, { ids }, {}].map((more) => rows().list({ ...filters, ...more, limit: 5 })),
      );
      for (const { items } of found) {
        expect(items.map((item) => JSON.parse(item) as unknown)).toMatchObject([wanted]);
      }
      for (const name of SORTED) {
        const others = { [`with ${name}`]: other[name], limit: 5 } as unknown as Query;
        const { items } = await rows().list(others);
        expect(items.map((item) => JSON.parse(item) as unknown)).toMatchObject([
          { ...wanted, [name]: other[name] },
        ]);
      }
    });

    // A list is read in the same way, whether its table has changes or not.
    it.runIf(!hasChanges)('is sorted by a column, also if its rows are long', async () => {
      await create([0, 1, 2]);
      const sorted = async (name: string, isDescending: boolean): Promise<void> => {
        const sort = isDescending ? `-${name}` : name;
        const list = (begin: object) => rows().list({ limit: 2, sort, ...begin });
        const first = await list({ count: name === 'value' });
        const rest = await list({ after: first.next, afterValue: first.details.nextValue });
        const items = [...first.items, ...rest.items];
        const wanted = [0, 1, 2].map((n) => contentOf(n)[name]);
        expect(items.map((item) => (JSON.parse(item) as Row)[name])).toEqual(
          isDescending ? wanted.toReversed() : wanted,
        );
      };
      for (const [at, name] of SORTED.entries()) await sorted(name, at % 2 === 1);
      const quoted = escapeIdentifier(table);
      await service.database.query(`UPDATE ${quoted} SET "text" = repeat('a', 1500000)`);
      await sorted('A b', false);
      await sorted('select', true);
    });

    it('is replaced, changed and removed, also under a condition', async () => {
      const [{ id }] = (await create([0])) as [Row];
      for (const precondition of [undefined, () => true]) {
        const n = precondition === undefined ? 1 : 2;
        const conditional = { ...context, precondition };
        const replaced = await rows().replace(id, contentOf(n), conditional);
        expect(replaced).toEqual({ id, ...contentOf(n) });
        for (const name of n === 1 ? ALL : SORTED) {
          const patched = await rows().patch(id, { [name]: 'x' }, conditional);
          expect(patched).toEqual({ id, ...contentOf(n), [name]: 'x' });
          await rows().patch(id, { [name]: contentOf(n)[name] }, conditional);
        }
      }
      await rows().remove(id, context);
      await expect(rows().find(id)).rejects.toMatchObject({ kind: ERRORS.missing });
      if (!hasChanges) return;
      const { items } = await rows().changes.list({ limit: 1_000 });
      const changes = items.map((item) => JSON.parse(item) as Record<string, unknown>);
      expect(changes[0]).toMatchObject({ kind: 'created', sample: contentOf(0) });
      expect(changes[1]).toMatchObject({ kind: 'replaced', sample: contentOf(1) });
      expect(changes.at(-1)).toMatchObject({ kind: 'removed' });
      expect(changes).toHaveLength(4 + 2 * ALL.length + 2 * SORTED.length);
    });

    it.runIf(hasChanges)('forgets its old changes', async () => {
      await create([0, 1, 2]);
      const changes = `changes_${TABLES.findIndex(([name]) => name === table)}`;
      const before = new Date(Date.now() - 48 * 3_600_000);
      await service.database.query(
        `UPDATE ${changes} SET time = $1 WHERE position < (SELECT max(position) FROM ${changes})`,
        [new Date(before.getTime() - 1)],
      );
      const pruned = await service.database.query(`SELECT prune_${changes}($1, 2) AS pruned`, [
        before,
      ]);
      expect(pruned).toEqual([{ pruned: 2 }]);
      expect((await rows().changes.list({ limit: 10 })).items).toHaveLength(1);
    });

    it.runIf(!isGenerated)(
      'compares what is created again, in a group and in an import',
      async () => {
        const numbers = Array.from({ length: 20 }, (_, n) => n);
        await create(numbers);
        const other = { ...contentOf(7), n: 'other' };
        const again = numbers.map((n) =>
          rows().create({ id: BigInt(n), ...(n === 7 ? other : contentOf(n)) }, context),
        );
        const settled = await Promise.allSettled(again);
        expect(settled.flatMap(({ status }, n) => (status === 'rejected' ? n : []))).toEqual([7]);
        const lines = linesOf(numbers.map((n) => Object.assign(contentOf(n + 10), { id: n + 10 })));
        const answer = await textOf(rows().import(lines, new AbortController().signal, ACTOR));
        expect(answer).toBe('{"created":10,"unchanged":10,"refused":0}\n');
      },
    );

    it.runIf(isGenerated)('is created once with a key', async () => {
      const keyed = { ...context, idempotencyKey: 'key' };
      const row = await rows().create(contentOf(0), keyed);
      expect(await rows().create(contentOf(0), keyed)).toEqual(row);
    });
  },
);

it('ids that are taken are skipped, however many there are', async () => {
  const create = async () => {
    const content = { last: 'a', name: 'b', until: 'c' };
    return Number((await repositories.get('counted')!.create(content, { actor: ACTOR })).id);
  };
  const first = await create();
  await service.database.query(
    `INSERT INTO counted SELECT n, '', '', '' FROM generate_series(${first + 1}, ${first + 300}) AS n`,
  );
  expect(await create()).toBe(first + 301);
});

it('no table and no column has a name of the statements', async () => {
  @Entity('rs__rows')
  class Named {
    declare readonly id: bigint;
  }
  @Entity('named')
  class WithNamed {
    declare readonly id: bigint;
    declare readonly value: string;
  }
  for (const entity of [Named, WithNamed]) PrimaryColumn(INT64_COLUMN)(entity.prototype, 'id');
  Column('text', { name: 'rs__value' })(WithNamed.prototype, 'value');
  const dataSource: DataSource = dataSourceFor(
    { identity: IDENTITY, schema: { entities: [Named, WithNamed], migrations: [] } },
    service.database.url,
  );
  await dataSource.initialize();
  try {
    expect(() => new EntityColumns(dataSource, Named)).toThrow(
      'Named: no table can have a name with rs__',
    );
    expect(() => new EntityColumns(dataSource, WithNamed)).toThrow(
      'WithNamed.value: no column can have a name with rs__',
    );
  } finally {
    await dataSource.destroy();
  }
});
