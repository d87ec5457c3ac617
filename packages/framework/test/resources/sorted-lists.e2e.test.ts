import { Controller, Get, Injectable, Query } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { Exclude } from 'class-transformer';
import fc from 'fast-check';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DtoOf,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  Int64Parameter,
  IntegerField,
  isEqual,
  ListOf,
  NoOtherParameters,
  RequireScope,
  ServiceException,
  Sortable,
  StartupError,
  TextField,
  TextParameter,
  TIMESTAMP_COLUMN,
  TimestampField,
  UUID_COLUMN,
  UuidField,
} from '../../src/index.js';
import type { Page } from '../../src/index.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { missingSortIndexes } from '../../src/resources/reads/sort-indexes.js';
import { resourceMistakes } from '../../src/resources/resource-checks.js';
import { sortableOf } from '../../src/resources/reads/sort.js';
import { dataSourceFor } from '../support/data-source.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';

const LEAST = '00000000-0000-0000-0000-000000000000';
const GREATEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Values that are not in the order of their texts. */
const ORDER = {
  price: ['-7', '0.1', '0.10000000000000000001', '1e30', 'NaN'],
  weight: ['-Infinity', '-1e300', '0', '5e-324', '0.1', '0.30000000000000004', 'Infinity', 'NaN'],
  due: ['4713-01-01 BC', '0001-01-01', '2026-02-03', '10000-01-01'],
  lasts: ['-178000000 years', '-1 mon 29 days', '00:00:00', '00:00:00.000001', '1 mon', '1 year'],
} as const;

const idOf = (n: number) => `01920000-0000-7000-8000-${String(n).padStart(12, '0')}`;

const ERRORS = errorsOf({
  parcelNotFound: { number: 40480, message: 'there is no such parcel', remedy: 'Check the id' },
});

/** A resource whose lists are sorted by columns of many types. */
@Entity('parcels')
class Parcel {
  @PrimaryColumn(UUID_COLUMN)
  @UuidField({ description: 'Its id.' })
  readonly id!: string;

  @Sortable()
  @Column('text', { name: 'a "strange" name', nullable: true })
  @TextField({ description: 'A text.', isOptional: true })
  readonly label!: string | null;

  @Sortable()
  @Column('character varying', { length: 200, nullable: true })
  @TextField({ description: 'A short text.', isOptional: true })
  readonly code!: string | null;

  @Sortable()
  @Column({ ...INT64_COLUMN, nullable: true })
  @Int64Field({ description: 'A number.', isOptional: true })
  readonly large!: bigint | null;

  @Sortable()
  @Column('smallint')
  @IntegerField({ minimum: -5, maximum: 99, description: 'A small number.' })
  readonly small!: number;

  @Sortable()
  @Column('numeric', { precision: 60, scale: 20, nullable: true })
  @TextField({ description: 'A price.', isOptional: true })
  readonly price!: string | null;

  @Sortable()
  @Column('boolean', { nullable: true })
  @TextField({ description: 'A switch.', isOptional: true })
  readonly flag!: boolean | null;

  @Sortable()
  @Column({ ...TIMESTAMP_COLUMN, name: 'sent_at', nullable: true })
  @TimestampField({ description: 'A moment.', isOptional: true })
  readonly sentAt!: Date | null;

  @Sortable()
  @Column('double precision', { nullable: true })
  @TextField({ description: 'A weight.', isOptional: true })
  readonly weight!: number | null;

  @Sortable()
  @Column('date', { nullable: true })
  @TextField({ description: 'A day.', isOptional: true })
  readonly due!: string | null;

  @Sortable()
  @Column('interval', { nullable: true })
  @TextField({ description: 'A duration.', isOptional: true })
  readonly lasts!: string | null;

  @Sortable()
  @Column(UUID_COLUMN.type, { nullable: true })
  @UuidField({ description: 'Who sent it.', isOptional: true })
  readonly sender!: string | null;
}

class Row {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;
}

@Entity('rows')
class Sequence extends Row {
  @Sortable()
  @Column('timestamptz', { array: true })
  @TextField({ description: 'Moments.' })
  readonly value!: readonly Date[];
}

@Entity('rows')
class Balance extends Row {
  @Sortable()
  @Column('numeric')
  @TextField({ description: 'A number.' })
  readonly value!: string;
}

@Entity('rows')
class Secret extends Row {
  @Sortable()
  @Column('text')
  @Exclude()
  readonly value!: string;
}

class ParcelDto extends DtoOf(Parcel) {}
@NoOtherParameters()
class ListParcelsDto extends ListOf(Parcel) {
  @Int64Parameter('Only parcels with this number.')
  readonly large?: bigint;

  @TextParameter({ description: 'Only parcels with this code.' })
  readonly code?: string;
}

const COLUMNS = `id uuid DEFAULT uuid_v7() PRIMARY KEY, "a ""strange"" name" text, code character varying(200), large bigint,
  small smallint NOT NULL, price numeric(60, 20), flag boolean, sent_at timestamptz(3), weight double precision,
  due date, lasts interval, sender uuid`;

/** Without what a migration creates. */
const BARE_COLUMNS = COLUMNS.replace(' DEFAULT uuid_v7()', '');

const INDEXES = [
  '(left("a ""strange"" name", 100) COLLATE "C", id)',
  '(left(code, 100) COLLATE "C", id)',
  '(large, id)',
  '(small, id)',
  // In the other direction, and with more columns.
  '(price DESC, id DESC)',
  '(flag, id, small)',
  '(sent_at, id) INCLUDE (small)',
  '(weight, id)',
  '(due, id)',
  '(lasts, id)',
  '(sender, id)',
];

const CREATE_PARCELS = migrationOf(
  `CREATE TABLE parcels (${COLUMNS})`,
  ...INDEXES.map((index) => `CREATE INDEX ON parcels ${index}`),
);

@Injectable()
class ParcelsRepository extends GeneratedIdRepository<Parcel, ListParcelsDto>(Parcel, {
  name: 'parcels',
  dto: ParcelDto,
  filters: { large: isEqual('large'), code: isEqual('code') },
  notFound: () => new ServiceException(ERRORS.parcelNotFound),
}) {}

@Controller('parcels')
class ParcelsController {
  constructor(private readonly parcels: ParcelsRepository) {}

  @Get()
  @RequireScope('parcels:read')
  list(@Query() query: ListParcelsDto): Promise<Page<ListParcelsDto>> {
    return this.parcels.list(query);
  }
}

const AppModule = appOf([Parcel], [CREATE_PARCELS], {
  controllers: [ParcelsController],
  providers: [ParcelsRepository],
});

type Json = Readonly<Record<string, unknown>>;

describe('a list', () => {
  const service = runningService(AppModule);

  async function get(path: string) {
    const { status, text, headers } = await service.send('GET', path);
    const link = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '');
    return {
      status,
      body: JSON.parse(text) as readonly Json[],
      next: link?.[1],
      total: headers.get('x-total-count'),
      isExact: headers.get('x-total-count-exact'),
    };
  }

  /** The ids of all pages. */
  async function idsFrom(path: string): Promise<string[]> {
    const ids: string[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const page: Awaited<ReturnType<typeof get>> = await get(next);
      expect(page.status).toBe(200);
      ids.push(...page.body.map(({ id }) => String(id)));
      next = page.next;
    }
    return ids;
  }

  async function store(rows: readonly Json[]): Promise<void> {
    await service.database.empty();
    await service.database.query(
      `INSERT INTO parcels SELECT id, label, code, large, small, price, flag, "sentAt", weight, due, lasts, sender
       FROM jsonb_to_recordset($1) AS rows (id uuid, label text, code text, large bigint, small smallint, price numeric, flag boolean, "sentAt" timestamptz, weight float8,
         due date, lasts interval, sender uuid)`,
      [
        JSON.stringify(rows, (_, value: unknown) =>
          typeof value === 'bigint' ? String(value) : value,
        ),
      ],
    );
  }

  const optional = <T>(...values: readonly T[]) => fc.constantFrom(null, ...values);
  const parcel = fc.record({
    id: fc.oneof(fc.uuid(), fc.constantFrom(LEAST, GREATEST)),
    label: optional('', 'null', '"', 'Ä', '🌵', '\uFFFD'),
    code: optional('a', 'B', '7', 'true'),
    large: optional(-(2n ** 63n), 9007199254740993n, 9007199254740992n, 2n ** 63n - 1n),
    small: fc.integer({ min: -5, max: 2 }),
    price: optional(...ORDER.price),
    flag: optional(true, false),
    sentAt: optional(
      '0001-01-01T00:00:00.000Z',
      '2026-02-03T04:05:06.789Z',
      '9999-12-31T23:59:59.999Z',
    ),
    weight: optional(...ORDER.weight),
    due: optional(...ORDER.due),
    lasts: optional(...ORDER.lasts, '30 days'),
    sender: optional(LEAST, '01920000-0000-7000-8000-000000000001', GREATEST),
  });

  /** Whether one value comes before another one. */
  function compare(one: unknown, other: unknown): number {
    if (one === null || other === null || one === other) return 0;
    if (typeof one === 'string')
      return Buffer.compare(Buffer.from(one), Buffer.from(other as string));
    return (one as number) < (other as number) ? -1 : 1;
  }
  /** The place of the value of a row among all values of the column. */
  function rankOf(row: Json, column: string): unknown {
    const value = row[column];
    const order: readonly unknown[] | undefined = Object.entries(ORDER).find(
      ([name]) => name === column,
    )?.[1];
    if (value === null || order === undefined) return value;
    // Equal durations.
    return order.indexOf(value === '30 days' ? '1 mon' : value);
  }

  it.each(['id', ...sortableOf(Parcel)])(
    'by %s leads over every row once, in both directions',
    async (column) => {
      const rank = (row: Json) => rankOf(row, column);
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(parcel, { selector: ({ id }) => id, maxLength: 15 }),
          fc.integer({ min: 1, max: 5 }),
          fc.boolean(),
          fc.constantFrom('', '&code=a', '&large=9007199254740993'),
          async (rows, limit, isDescending, filter) => {
            await store(rows);
            const direction = isDescending ? -1 : 1;
            const wanted = (rows as readonly Json[])
              .filter(({ code, large }) => {
                if (filter === '&code=a') return code === 'a';
                return filter === '' || large === 9007199254740993n;
              })
              .toSorted((one, other) => {
                const nulls = Number(rank(one) === null) - Number(rank(other) === null);
                return (
                  nulls ||
                  direction * (compare(rank(one), rank(other)) || compare(one['id'], other['id']))
                );
              });
            const sort = `${isDescending ? '-' : ''}${column}`;
            const found = await idsFrom(`/parcels?limit=${limit}&sort=${sort}${filter}`);
            expect(found).toEqual(wanted.map(({ id }) => id));
          },
        ),
        { numRuns: 15 },
      );
    },
  );

  it('has the rows with some UUIDs, and passes over others', async () => {
    const ids = [LEAST, '01920000-0000-7000-8000-000000000001', GREATEST];
    await store(ids.map((id) => ({ id, small: 1 })));
    const all = [GREATEST, '01920000-0000-7000-8000-000000000404', ids[1], LEAST].join();
    expect(await idsFrom(`/parcels?limit=1&ids=${all}`)).toEqual(ids);
    expect(await idsFrom(`/parcels?limit=2&sort=-id&ids=${all}`)).toEqual(ids.toReversed());
    expect(await idsFrom(`/parcels?ids=${all.toUpperCase()}`)).toEqual(ids);
    const refused = await get('/parcels?ids=01920000-0000-7000-8000-00000000000g');
    expect(refused).toMatchObject({ status: 400, body: { error: 40004 } });
  });

  describe('of ids whose rows are longer than a page', () => {
    const ids = Array.from({ length: 100 }, (_, n) => idOf(n));

    beforeAll(async () => {
      await store(ids.map((id) => ({ id, small: 1 })));
      await service.database.query(
        `UPDATE parcels SET "a ""strange"" name" = repeat('a', 1000000)`,
      );
    });

    it.each(['id', '-id'])('leads over all of them by %s', async (sort) => {
      const some = ids.slice(0, 55);
      const found = await idsFrom(`/parcels?limit=100&sort=${sort}&ids=${some.join()}`);
      expect(found).toEqual(sort === 'id' ? some : some.toReversed());
    });

    it('is refused if the Link to the next page would be too long', async () => {
      const { status, body } = await get(`/parcels?limit=100&ids=${ids.join()}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        error: 40004,
        message:
          'ids are too many for items as long as these: the link to the next page would be too long',
      });
    });
  });

  it('that is whole has as many rows as it says while others remove them', async () => {
    await store(Array.from({ length: 1_000 }, (_, n) => ({ id: idOf(n), small: 1 })));
    const removal = service.database.query(
      `DO $$ DECLARE one uuid; BEGIN
        FOR one IN SELECT id FROM parcels LOOP DELETE FROM parcels WHERE id = one; COMMIT; END LOOP;
      END $$`,
    );
    let page: Awaited<ReturnType<typeof get>>;
    do {
      page = await get('/parcels?count=true&limit=1000');
      const { body, next, total, isExact } = page;
      expect([next, total, isExact]).toEqual([undefined, `${body.length}`, 'true']);
    } while (page.body.length > 0);
    await removal;
  });

  it('with one value of the column begins after another one, where the request says', async () => {
    const ids = [1, 2, 3].map(idOf);
    await store(ids.map((id) => ({ id, small: 1, large: 7 })));
    const from = async (sort: string, value: string) =>
      (
        await get(`/parcels?large=7&limit=9&sort=${sort}&after=${ids[1]}&afterValue=${value}`)
      ).body.map(({ id }) => id);
    expect(await from('large', '7')).toEqual([ids[2]]);
    expect(await from('-large', '7')).toEqual([ids[0]]);
    expect(await from('large', '6')).toEqual(ids);
    expect(await from('large', '8')).toEqual([]);
    expect(await from('-large', '8')).toEqual(ids.toReversed());
    expect(await from('-large', '6')).toEqual([]);
    expect(await from('large', 'null')).toEqual([]);
  });

  it.each([
    ['large', '%221x%22'],
    ['large', '9223372036854775808'],
    ['large', '1.5'],
    ['small', 'true'],
    ['flag', '7'],
    ['sentAt', '%222026-02-30T00%3A00%3A00Z%22'],
    ['price', '%22%22'],
  ])('by %s is refused after %s', async (column, value) => {
    const after = '01920000-0000-7000-8000-000000000001';
    expect(await get(`/parcels?sort=${column}&after=${after}&afterValue=${value}`)).toMatchObject({
      status: 400,
      body: { error: 40004, message: `afterValue must be a value of ${column}` },
    });
  });
});

describe('a column that lists are sorted by', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`CREATE TABLE parcels (${BARE_COLUMNS})`);
  });

  afterAll(() => database.drop());

  async function missing(entity: Type = Parcel, dto: Type = ParcelDto): Promise<string> {
    const schema = { entities: [entity], migrations: [] };
    const dataSource = dataSourceFor({ identity: IDENTITY, schema }, database.url);
    await dataSource.initialize();
    try {
      const mistakes = resourceMistakes(
        dataSource,
        { entity, dto, isGenerated: entity === Parcel, filters: {}, expansions: {} },
        [],
      );
      if (mistakes.length > 0) return mistakes.join('\n');
      const columns = new EntityColumns(dataSource, entity);
      return (await missingSortIndexes(dataSource, columns, entity)).join('\n');
    } finally {
      await dataSource.destroy();
    }
  }

  it('needs a type whose values are short and have an order', async () => {
    const refused: readonly (readonly [entity: Type<Row>, type: string])[] = [
      [Sequence, 'timestamp with time zone[]'],
      [Balance, 'numeric without a precision'],
    ];
    for (const [entity, type] of refused) {
      class EntityDto extends DtoOf(entity) {}
      expect(await missing(entity, EntityDto)).toBe(
        `${entity.name}.value: lists cannot be sorted by the type ${type}`,
      );
    }
  });

  it('is no internal column', async () => {
    class SecretDto extends DtoOf(Secret) {}
    expect(await missing(Secret, SecretDto)).toBe(
      'Secret.value has @Sortable(), but SecretDto lacks it: each Link would have its values',
    );
  });

  it('needs an index, which the message says and the start needs', async () => {
    const messages = (await missing()).split('\n');
    expect(messages).toHaveLength(INDEXES.length);
    expect(messages[0]).toBe(
      '"parcels": lists can be sorted by label, which needs an index that the table does not have: CREATE INDEX CONCURRENTLY ON "parcels" (left("a ""strange"" name", 100) COLLATE "C", "id")',
    );
    for (const message of messages) {
      await database.query(/CREATE INDEX .*$/.exec(message)![0]);
    }
    expect(await missing()).toBe('');
  });

  it.each([
    ['of the column alone', '(large)'],
    ['with another column in between', '(large, small, id)'],
    ['with the id first', '(id, large)'],
    ['of some rows', '(large, id) WHERE large > 7'],
    ['of two directions', '(large DESC, id)'],
    ['with nulls first', '(large NULLS FIRST, id)'],
    ['of an expression', '((large + 0), id)'],
  ])('needs more than an index %s', async (_, index) => {
    await database.query('DROP TABLE parcels');
    await database.query(`CREATE TABLE parcels (${BARE_COLUMNS})`);
    for (const other of INDEXES) await database.query(`CREATE INDEX ON parcels ${other}`);
    await database.query('DROP INDEX parcels_large_id_idx');
    await database.query(`CREATE INDEX ON parcels ${index}`);
    expect(await missing()).toMatch(
      /^"parcels": lists can be sorted by large, .* \("large", "id"\)$/,
    );
  });

  it.each([
    ['in the collation of the database', '(left(code, 100), id)'],
    ['in another collation', '(left(code, 100) COLLATE "und-x-icu", id)'],
    ['of another length', '(left(code, 99) COLLATE "C", id)'],
    ['of the whole text', '(code COLLATE "C", id)'],
    ['for patterns', '(left(code, 100) COLLATE "C" text_pattern_ops, id)'],
    ['that was not built', '(left(code, 100) COLLATE "C", id)'],
  ])('needs for a text more than an index %s', async (kind, index) => {
    await database.query('DROP TABLE parcels');
    await database.query(`CREATE TABLE parcels (${BARE_COLUMNS})`);
    for (const other of INDEXES.filter((each) => !each.includes('code'))) {
      await database.query(`CREATE INDEX ON parcels ${other}`);
    }
    await database.query(`CREATE INDEX of_code ON parcels ${index}`);
    if (kind === 'that was not built') {
      await database.query(
        `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'of_code'::regclass`,
      );
    }
    expect(await missing()).toMatch(/^"parcels": lists can be sorted by code, .*$/);
  });
});

it('a service does not start without an index of a column that lists are sorted by', async () => {
  const database = await createTestDatabase();
  const first = await start(AppModule, database);
  await first.stop();
  await database.query('DROP INDEX parcels_small_id_idx');
  await expect(start(AppModule, database)).rejects.toThrow(
    new StartupError(
      '"parcels": lists can be sorted by small, which needs an index that the table does not have: CREATE INDEX CONCURRENTLY ON "parcels" ("small", "id")',
    ),
  );
  await database.drop();
});
