import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import { PickType } from '@nestjs/swagger';
import fc from 'fast-check';
import { Entity, PrimaryColumn } from 'typeorm';
import { beforeEach, describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { dataSourceOf } from '../../src/database/data-source.js';
import { RequestSignal } from '../../src/http/responses/request-signal.js';
import type { BodyLine } from '../../src/http/body/body-lines.js';
import { validatedPropertiesOf } from '../../src/http/body/dto.pipe.js';
import { NdjsonLines } from '../../src/http/body/ndjson.js';
import {
  BooleanField,
  DateField,
  DecimalField,
  DoubleField,
  DtoOf,
  EnumField,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  JsonField,
  LinesFile,
  ListOf,
  NewOf,
  NoOtherParameters,
  PatchOf,
  ReplacementOf,
  Representation,
  RequireScope,
  ResourceRepository,
  ServiceException,
  ServiceManaged,
  Sortable,
  TextArrayField,
} from '../../src/index.js';
import type { Defaulted, JsonValue, Managed, Page } from '../../src/index.js';
import { parseAllDigits, stringifyExactJson } from '../../src/json/exact-json.js';
import { errorsOf } from '../support/errors.js';
import { PATIENT } from '../support/patience.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { createTestDatabase } from '../support/test-database.js';

const ERRORS = errorsOf({
  taken: { number: 40980, message: 'the id is taken', remedy: 'Choose another one' },
  missing: { number: 40480, message: 'there is no such item', remedy: 'Create it' },
});

const KINDS = ['saw', "joiner's mallet", 'Ä"'] as const;

@Entity('items')
class Item {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;

  @Sortable()
  @EnumField(KINDS, { description: 'What it is.', default: "joiner's mallet" })
  readonly kind!: Defaulted<(typeof KINDS)[number]>;

  @Sortable()
  @DecimalField({
    description: 'What it costs.',
    precision: 20,
    scale: 2,
    isOptional: true,
    column: { name: 'unit_price' },
  })
  readonly price!: string | null;

  @DecimalField({
    description: 'A part of the whole.',
    precision: 3,
    scale: 3,
    minimum: '0',
    maximum: '0.5',
    default: '0.250',
  })
  readonly share!: Defaulted<string>;

  @BooleanField({ description: 'Whether it is in use.', default: true })
  readonly isActive!: Defaulted<boolean>;

  @Sortable()
  @DateField({ description: 'The day on which it was bought.', isOptional: true })
  readonly purchasedOn!: string | null;

  @TextArrayField({ description: 'Its tags.', maxItems: 3, maxLength: 5, default: [] })
  readonly tags!: Defaulted<string[]>;

  @JsonField({ description: 'Whatever there is to know.', maxBytes: 1_000, isOptional: true })
  readonly specs!: JsonValue;

  @Sortable()
  @DoubleField({ description: 'Its weight.', maximum: 1e300, isOptional: true })
  readonly weight!: number | null;

  @ServiceManaged()
  @EnumField(['approved', 'broken'], { description: 'What became of it.', isOptional: true })
  readonly status!: Managed<'approved' | 'broken'> | null;
}

class ItemDto extends DtoOf(Item) {}
class NewItemDto extends NewOf(Item) {}
class ItemReplacementDto extends ReplacementOf(Item) {}
class ItemPricesDto extends PickType(ItemReplacementDto, ['price', 'share']) {}
class ItemPatchDto extends PatchOf(Item) {}

@NoOtherParameters()
class ListItemsDto extends ListOf(Item) {}

/** As `migration:generate` writes it. */
const CREATE_ITEMS = migrationOf(
  `CREATE TABLE items (id bigint PRIMARY KEY, kind text NOT NULL DEFAULT 'joiner''s mallet', unit_price numeric(20,2), share numeric(3,3) NOT NULL DEFAULT '0.250',
      "isActive" boolean NOT NULL DEFAULT true, "purchasedOn" date, tags text[] NOT NULL DEFAULT '{}', specs jsonb, weight double precision, status text,
      CHECK (kind IN ('saw', 'joiner''s mallet', 'Ä"')))`,
  ...['kind', 'unit_price', '"purchasedOn"', 'weight'].map((column) =>
    column === 'kind'
      ? 'CREATE INDEX ON items ((left(kind, 100)) COLLATE "C", id)'
      : `CREATE INDEX ON items (${column}, id)`,
  ),
);

@Injectable()
class ItemsRepository extends ResourceRepository<Item, ListItemsDto>(Item, {
  name: 'items',
  dto: ItemDto,
  imported: NewItemDto,
  filters: {},
  idTaken: () => new ServiceException(ERRORS.taken),
  notFound: () => new ServiceException(ERRORS.missing),
}) {}

@Controller('items')
class ItemsController {
  constructor(private readonly items: ItemsRepository) {}

  @Post()
  @HttpCode(200)
  @RequireScope('items:write')
  create(@Body() item: NewItemDto): Promise<ItemDto> {
    return this.items.create(item);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('items:write')
  import(
    @NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>,
    @RequestSignal() signal: AbortSignal,
  ): LinesFile {
    return new LinesFile(this.items.import(lines, signal), { endsInError: true });
  }

  @Get()
  @RequireScope('items:read')
  list(@Query() query: ListItemsDto): Promise<Page<ListItemsDto>> {
    return this.items.list(query);
  }

  @Get('export')
  @RequireScope('items:read')
  export(@RequestSignal() signal: AbortSignal): LinesFile {
    return new LinesFile(this.items.export({}, signal), { endsInError: true });
  }

  @Get(':id')
  @RequireScope('items:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<ItemDto>> {
    return new Representation(await this.items.find(id));
  }

  @Put(':id')
  @RequireScope('items:write')
  replace(@Param('id', Int64Pipe) id: bigint, @Body() item: ItemReplacementDto): Promise<ItemDto> {
    return this.items.replace(id, item);
  }

  @Put(':id/prices')
  @RequireScope('items:write')
  replacePrices(@Param('id', Int64Pipe) id: bigint, @Body() prices: ItemPricesDto) {
    return this.items.replace(id, prices);
  }

  @Put(':id/status')
  @RequireScope('items:write')
  approve(@Param('id', Int64Pipe) id: bigint): Promise<ItemDto> {
    return this.items.patch(id, { status: 'approved' });
  }

  @Post('bare/:id')
  @RequireScope('items:write')
  createBare(@Param('id', Int64Pipe) id: bigint): Promise<ItemDto> {
    return this.items.create({ id });
  }

  @Put(':id/weight')
  @RequireScope('items:write')
  weigh(@Param('id', Int64Pipe) id: bigint): Promise<ItemDto> {
    return this.items.replace(id, { weight: 3, isActive: false });
  }

  @Patch(':id')
  @RequireScope('items:write')
  patch(@Param('id', Int64Pipe) id: bigint, @Body() item: ItemPatchDto): Promise<ItemDto> {
    return this.items.patch(id, item);
  }
}

const service = runningService(
  appOf([Item], [CREATE_ITEMS], { controllers: [ItemsController], providers: [ItemsRepository] }),
  {},
  PATIENT,
);
const { send } = service;

beforeEach(() => service.database.empty());

const DEFAULTS = { kind: "joiner's mallet", share: '0.250', isActive: true, tags: [] };

type Row = Readonly<Record<string, unknown>>;

const rowOf = (text: string) => parseAllDigits(text) as Row;

interface Values {
  readonly valid: fc.Arbitrary<unknown>;
  /** How a value comes back, if not as it was sent. */
  readonly stored?: (value: never) => unknown;
  readonly isValid: (value: unknown) => boolean;
  readonly wrong: readonly unknown[];
}

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.integer({ min: 0, max: 9 }).map(String), minLength: min, maxLength: max });

const exact = (literal: string) => parseAllDigits(literal);

const storable = fc
  .string({ unit: 'binary', maxLength: 5 })
  .filter((text) => text.isWellFormed() && !text.includes('\0'));

const PRICE = /^-?(0|[1-9]\d{0,17})(\.\d{1,2})?$/;

const isDay = (value: unknown) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\d$/.test(value) &&
  value > '0001' &&
  !Number.isNaN(Date.parse(`${value}T00:00:00Z`)) &&
  new Date(`${value}T00:00:00Z`).toISOString().startsWith(value);

const PROPERTIES: Readonly<Record<string, Values>> = {
  kind: {
    valid: fc.constantFrom(...KINDS),
    isValid: (value) => KINDS.some((kind) => kind === value),
    wrong: ['', 'Saw', 'saw ', ['saw'], 0],
  },
  price: {
    valid: fc
      .tuple(fc.constantFrom('', '-'), digits(1, 18), digits(0, 2))
      .map(([sign, whole, fraction]) => {
        const integer = whole.replace(/^0+(?=.)/, '');
        return `${sign}${integer}${fraction === '' ? '' : `.${fraction}`}`;
      }),
    stored: (value: string) => {
      const [integer = '', fraction = ''] = value.split('.');
      const text = `${integer}.${fraction.padEnd(2, '0')}`;
      return /[1-9]/.test(text) ? text : '0.00';
    },
    isValid: (value) => typeof value === 'string' && PRICE.test(value),
    wrong: [
      '1.005',
      '1.000',
      '1000000000000000000',
      '1e2',
      '+1',
      ' 1',
      '1.',
      '.5',
      '01',
      'NaN',
      '',
      'Infinity',
      '-',
      '١',
      12,
      12.5,
      0,
      exact('9007199254740993'),
    ],
  },
  share: {
    valid: fc.integer({ min: 0, max: 500 }).map((share) => (share / 1_000).toFixed(3)),
    isValid: (value) =>
      typeof value === 'string' &&
      /^-?0(\.\d{1,3})?$/.test(value) &&
      Math.abs(Number(value) - 0.25) <= 0.25,
    wrong: ['0.501', '-0.001', '1', '0.9999'],
  },
  isActive: {
    valid: fc.boolean(),
    isValid: (value) => typeof value === 'boolean',
    wrong: ['true', 1, 0, '', []],
  },
  purchasedOn: {
    valid: fc
      .date({
        min: new Date('0001-01-01T00:00:00Z'),
        max: new Date('9999-12-31T00:00:00Z'),
        noInvalidDate: true,
      })
      .map((date) => date.toISOString().slice(0, 10)),
    isValid: isDay,
    wrong: [
      '2023-02-29',
      '2024-02-30',
      '2024-13-01',
      '0000-01-01',
      '2024-1-1',
      '20240101',
      'today',
      '2024-01-01T00:00:00Z',
      '12024-01-01',
      '2024-01-01 BC',
      'infinity',
      20_240_101,
    ],
  },
  tags: {
    valid: fc.oneof(
      fc.array(storable, { maxLength: 3 }),
      fc.constantFrom(['NULL', '{}', '"'], ['', ' ', '\\'], ['a,b', '🪚🪚🪚🪚🪚']),
    ),
    isValid: (value) =>
      Array.isArray(value) &&
      value.length <= 3 &&
      value.every(
        (item) => typeof item === 'string' && Array.from(item).length <= 5 && isStorable(item),
      ),
    wrong: [
      ['a', null],
      [['a']],
      ['abcdef'],
      ['a', 'b', 'c', 'd'],
      'a',
      {},
      ['\0'],
      [1],
      ['\ud800'],
    ],
  },
  specs: {
    valid: fc.oneof(
      fc.jsonValue().filter((value) => value !== null && isStorable(value)),
      fc.constantFrom(
        exact('9007199254740993'),
        exact('0.1234567890123456789012'),
        { deep: [exact('-1e399'), { constructor: 1, toString: [] }] },
        '',
        0,
        false,
        [],
      ),
    ),
    isValid: (value) => value !== null && isStorable(value),
    wrong: ['\0', { a: ['\0'] }, { '\0': 1 }, ['\udfff'], exact('1e400'), 'x'.repeat(999)],
  },
  weight: {
    valid: fc
      .double({ noNaN: true, noDefaultInfinity: true, max: 1e300 })
      .filter((weight) => weight === 0 || Math.abs(weight) >= 1e-307),
    stored: (value: number) => value + 0,
    isValid: (value) =>
      typeof value === 'number' && value <= 1e300 && (value === 0 || Math.abs(value) >= 1e-307),
    wrong: [
      '1',
      'NaN',
      1.1e300,
      exact('1e400'),
      exact('-1e309'),
      exact('9007199254740993'),
      exact('1e-400'),
      true,
    ],
  },
};

function isStorable(value: unknown): boolean {
  const text = JSON.stringify(value);
  // A number such as 5e-324 counts with all its digits.
  const size = Buffer.byteLength(stringifyExactJson(parseAllDigits(text)));
  // `JSON.stringify` escapes both; an escaped backslash cannot stand before them in these tests' values by chance alone.
  return !/\\u0000|\\ud[89a-f]/i.test(text) && size <= 1_000;
}

describe.each(Object.entries(PROPERTIES))('%s', (property, { valid, stored, isValid, wrong }) => {
  const lineOf = (value: unknown, index: number) =>
    stringifyExactJson({ id: index + 1, [property]: value });

  it('comes back digit for digit in every response, and its replay is no change', async () => {
    const values = fc.array(valid, { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(values, async (all) => {
        await service.database.empty();
        const lines = all.map(lineOf);
        const rows = all.map((value, index) => ({
          ...DEFAULTS,
          id: index + 1,
          [property]: stored === undefined ? value : stored(value as never),
        }));
        const expected = rows.map((row) => rowOf(stringifyExactJson(row)));
        const file = lines.join('\n');
        expect((await send('POST', '/items/import', file)).text).toBe(
          `{"created":${all.length},"unchanged":0,"refused":0}\n`,
        );
        expect((await send('POST', '/items/import', file)).text).toBe(
          `{"created":0,"unchanged":${all.length},"refused":0}\n`,
        );
        const exported = await send('GET', '/items/export');
        expect(exported.text.trim().split('\n').map(rowOf)).toEqual(expected);
        const [line] = lines as [string];
        for (const answer of [
          await send('POST', '/items', line),
          await send('GET', '/items/1'),
          await send('PATCH', '/items/1', line),
          await send('PUT', '/items/1', line),
        ]) {
          expect(answer.status).toBe(200);
          expect(rowOf(answer.text)).toEqual(expected[0]);
        }
        // What a response has can be sent back.
        const again = await send('POST', '/items/import', exported.text);
        expect(again.text).toBe(`{"created":0,"unchanged":${all.length},"refused":0}\n`);
      }),
      { numRuns: 12 },
    );
  });

  it('is rejected by name if it is wrong, and never an error of the service', async () => {
    await send('POST', '/items', '{"id":1}');
    for (const value of [null, ...wrong]) {
      const line = lineOf(value, 0);
      for (const [method, path] of [
        ['POST', '/items'],
        ['PUT', '/items/1'],
        ['PATCH', '/items/1'],
      ] as const) {
        // It removes a value.
        if (method === 'PATCH' && value === null) continue;
        const { status, text } = await send(method, path, line);
        expect([line, status, text]).toEqual([
          line,
          400,
          expect.stringMatching(`^{"error":40003,"message":"${property} must `),
        ]);
      }
    }
    const others = fc.array(
      fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' })).filter((value) => !isValid(value)),
      { minLength: 1, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(others, async (all) => {
        const { text } = await send('POST', '/items/import', all.map(lineOf).join('\n'));
        const lines = text.trim().split('\n').map(rowOf);
        expect(lines.pop()).toEqual({ created: 0, unchanged: 0, refused: all.length });
        for (const [at, line] of lines.entries()) {
          expect([all[at], line]).toEqual([
            all[at],
            { line: at + 1, error: 40003, message: expect.stringMatching(`^${property} must `) },
          ]);
        }
      }),
      { numRuns: 12 },
    );
  });
});

describe('a property with a default', () => {
  it('is optional in a create and a PUT, and has the default without them', async () => {
    const created = await send('POST', '/items', '{"id":7}');
    expect(rowOf(created.text)).toEqual({ id: 7, ...DEFAULTS });
    await send('PATCH', '/items/7', '{"isActive":false,"tags":["a"],"kind":"saw"}');
    const patched = await send('PATCH', '/items/7', '{"weight":1.5}');
    expect(rowOf(patched.text)).toMatchObject({ isActive: false, tags: ['a'], kind: 'saw' });
    const replaced = await send('PUT', '/items/7', '{"weight":2}');
    expect(rowOf(replaced.text)).toEqual({ id: 7, ...DEFAULTS, weight: 2 });
    // With or without the default, the content is the same.
    const full = JSON.stringify({ id: 7, ...DEFAULTS, weight: 2 });
    expect((await send('POST', '/items', full)).status).toBe(200);
    const removed = await send('PATCH', '/items/7', '{"isActive":null}');
    expect(removed).toMatchObject({ status: 400 });
  });
});

it('code that creates and replaces rows of plain objects needs no defaults, either', async () => {
  const created = await send('POST', '/items/bare/7');
  expect(rowOf(created.text)).toEqual({ id: 7, ...DEFAULTS });
  expect(rowOf((await send('GET', '/items/7')).text)).toEqual({ id: 7, ...DEFAULTS });
  // Equal content.
  expect((await send('POST', '/items/bare/7')).status).toBe(201);
  const replaced = await send('PUT', '/items/7/weight');
  expect(rowOf(replaced.text)).toEqual({ id: 7, ...DEFAULTS, weight: 3, isActive: false });
});

describe('a property that the service manages', () => {
  it('is in responses, cannot be sent, and is kept by PUT and PATCH', async () => {
    const created = await send('POST', '/items', '{"id":7,"status":"broken"}');
    expect(rowOf(created.text)).toEqual({ id: 7, ...DEFAULTS });
    const line = '{"id":8,"status":"broken"}';
    expect((await send('POST', '/items/import', line)).text).toContain('"created":1');
    expect(rowOf((await send('GET', '/items/8')).text)).not.toHaveProperty('status');
    await send('PUT', '/items/7/status');
    for (const [method, body] of [
      ['PUT', '{"weight":1}'],
      ['PUT', '{"status":"broken","weight":1}'],
      ['PATCH', '{"status":null}'],
    ] as const) {
      const changed = await send(method, '/items/7', body);
      expect(rowOf(changed.text)).toMatchObject({ status: 'approved', weight: 1 });
    }
    for (const dto of [NewItemDto, ItemReplacementDto, ItemPatchDto]) {
      expect([...validatedPropertiesOf(dto)]).not.toContain('status');
      expectTypeOf<keyof InstanceType<typeof dto>>().extract<'status'>().toBeNever();
    }
    expect([...validatedPropertiesOf(ItemDto)]).toContain('status');
  });
});

describe('a PUT', () => {
  it('keeps the columns that its DTO lacks', async () => {
    const content = { price: '2.00', share: '0.100', tags: ['a'], specs: { a: 1 }, weight: 1 };
    await send('POST', '/items', { id: 7, ...content, isActive: false });
    const replaced = await send('PUT', '/items/7/prices', '{}');
    const { price: _, ...kept } = content;
    expect(rowOf(replaced.text)).toEqual({
      id: 7,
      ...DEFAULTS,
      ...kept,
      share: '0.250',
      isActive: false,
    });
  });
});

describe('equal content in other notations', () => {
  it('is the same in one group and in several', async () => {
    const keys = Array.from('abcdefghijkl');
    for (let id = 1; id <= 20; id++) {
      // More notations than a group has rounds.
      const bodies = keys.map((_, at) => {
        const fields = [...keys.slice(at), ...keys.slice(0, at)].map((key) => `"${key}":1.${key}`);
        const specs = fields.join().replaceAll(/[a-l](?=,|$)/g, '0'.repeat(at + 1));
        return `{"id":${id},"price":"${at % 2 === 0 ? '1.5' : '1.50'}","specs":{${specs}}}`;
      });
      const equal = await Promise.all(bodies.map((body) => send('POST', '/items', body)));
      expect(equal.map(({ status }) => status)).toEqual(keys.map(() => 200));
      const others = ['{"a":1}', '[]', '0'].map((specs) => `{"id":${id},"specs":${specs}}`);
      const mixed = await Promise.all(
        [...others, ...bodies].map((body) => send('POST', '/items', body)),
      );
      expect(mixed.map(({ status }) => status)).toEqual([409, 409, 409, ...keys.map(() => 200)]);
    }
  });
});

describe('lists', () => {
  it.each(['kind', 'price', 'purchasedOn', 'weight'])('are sorted by %s', async (property) => {
    const values: Readonly<Record<string, readonly unknown[]>> = {
      kind: ["joiner's mallet", 'saw', 'Ä"'],
      price: ['-1.00', '9.50', '10.00'],
      purchasedOn: ['0001-01-01', '2024-02-29', '9999-12-31'],
      weight: [-1e-300, 0.1, 1e300],
    };
    const sorted = values[property]!;
    const bodies = sorted.map((value, at) => JSON.stringify({ id: 3 - at, [property]: value }));
    await send('POST', '/items/import', bodies.join('\n'));
    for (const [sort, wanted] of [
      [property, sorted],
      [`-${property}`, sorted.toReversed()],
    ] as const) {
      let path: string | undefined = `/items?limit=1&sort=${sort}`;
      const found: unknown[] = [];
      while (path !== undefined) {
        const { status, text, headers } = await send('GET', path);
        expect(status).toBe(200);
        found.push((JSON.parse(text) as Row[])[0]![property]);
        path = /<([^>]+)>/.exec(headers.get('Link') ?? '')?.[1];
      }
      expect(found).toEqual(wanted);
    }
    const wrong = await send('GET', `/items?sort=${property}&after=1&afterValue=%22x%22`);
    expect(wrong.status).toBeLessThan(500);
  });
});

describe('the generated migration', () => {
  it('has the CHECK and the defaults, and leaves no difference', async () => {
    const database = await createTestDatabase();
    const dataSource = dataSourceOf({ type: 'postgres', url: database.url, entities: [Item] });
    onTestFinished(async () => {
      await dataSource.destroy();
      await database.drop();
    });
    await dataSource.initialize();
    await dataSource.synchronize();
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
    await database.query('INSERT INTO items (id) VALUES (1)');
    const [row] = await database.query(`SELECT row_to_json(i) AS json FROM items i`);
    expect(row?.['json']).toMatchObject({ ...DEFAULTS, share: 0.25, unit_price: null });
    const wrong = database.query(`UPDATE items SET kind = 'other'`);
    await expect(wrong).rejects.toMatchObject({ code: '23514' });
  });
});

it('an optional property cannot have a default', () => {
  expect(() => BooleanField({ description: '', isOptional: true, default: true })).toThrow(
    'a property with a default always has a value: it cannot be optional',
  );
});
