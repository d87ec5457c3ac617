/*
 * What a property of each type becomes:
 * `form`: how it is written; `accepts`: whether its parameters are valid, and what it `takes`; by default nothing.
 * `sql`: the column; `columnOptions`: what `@Column()` gets, unless the decorator declares the column, too.
 * `decorator`, and its `options` in source text; `typescript`: the type of the property.
 * `values`: two values in JSON, of which the second is greater; `wrong`: no value.
 * `filter`: the name of one of `FILTERS`.
 */

const numbered = (words) => ['First', 'Second'].map((word) => `${word} ${words}`);

const isNumber = (text) => /^(0|[1-9]\d{0,6})$/.test(text);

/** Neither needs an escape in TypeScript, SQL or a query. */
const VALUE = /^[\p{L}\p{N}]([\p{L}\p{N}._ -]*[\p{L}\p{N}])?$/u;

export const TYPES = {
  text: {
    form: 'text(200)',
    takes: 'the greatest number of characters, or nothing',
    accepts: (parameters) =>
      parameters.length === 0 ||
      (parameters.length === 1 && isNumber(parameters[0]) && Number(parameters[0]) > 0),
    sql: () => 'text',
    columnOptions: `'text'`,
    decorator: 'TextField',
    options: ({ parameters: [maxLength], isOptional }) =>
      isOptional ? { maxLength } : { minLength: '1', maxLength: maxLength ?? '200' },
    typescript: 'string',
    values: ({ words, parameters: [maxLength = 100] }) =>
      numbered(words).map((text) => text.slice(0, Math.min(maxLength, 100)).trimEnd()),
    wrong: 7,
    // An optional text is a note, which nobody sorts by.
    filter: ({ isOptional }) => (isOptional ? 'none' : 'prefix'),
  },
  'text[]': {
    form: 'text[]',
    sql: () => 'text[]',
    decorator: 'TextArrayField',
    options: () => ({ maxItems: '20', maxLength: '50' }),
    typescript: 'string[]',
    values: ({ words }) => numbered(words).map((text) => [text.slice(0, 50).trimEnd()]),
    wrong: 'none',
  },
  enum: {
    form: 'enum(open,returned)',
    takes:
      'two or more values, all different, of letters, digits, spaces, dots, hyphens and underscores',
    accepts: (parameters) =>
      parameters.length > 1 &&
      new Set(parameters).size === parameters.length &&
      parameters.every((value) => VALUE.test(value)),
    sql: () => 'text',
    decorator: 'EnumField',
    values: ({ parameters }) => parameters,
    wrong: '',
    filter: () => 'in',
  },
  integer: {
    form: 'integer',
    sql: () => 'integer',
    columnOptions: `'integer'`,
    decorator: 'IntegerField',
    options: () => ({ minimum: '-2_147_483_648', maximum: '2_147_483_647' }),
    typescript: 'number',
    values: () => [1, 2],
    wrong: 1.5,
    filter: () => 'range',
  },
  bigint: {
    form: 'bigint',
    sql: () => 'bigint',
    columnOptions: 'INT64_COLUMN',
    decorator: 'Int64Field',
    typescript: 'bigint',
    values: () => [1, 2],
    wrong: 1.5,
    filter: () => 'range',
  },
  decimal: {
    form: 'decimal(10,2)',
    takes: 'the number of digits, up to 1000, and how many of them are after the point',
    accepts: ([precision, scale, ...others]) =>
      others.length === 0 &&
      [precision, scale].every(isNumber) &&
      Number(precision) > 0 &&
      Number(precision) <= 1_000 &&
      Number(scale) <= Number(precision),
    sql: ({ parameters: [precision, scale] }) => `numeric(${precision},${scale})`,
    decorator: 'DecimalField',
    options: ({ parameters: [precision, scale] }) => ({ precision, scale }),
    typescript: 'string',
    values: ({ parameters: [precision, scale] }) =>
      ['1', '2'].map((digit) => {
        if (precision === scale) return `0.${digit.padEnd(scale, '0')}`;
        return scale === '0' ? digit : `${digit}.${'0'.repeat(scale)}`;
      }),
    wrong: 1,
    filter: () => 'range',
  },
  double: {
    form: 'double',
    sql: () => 'double precision',
    decorator: 'DoubleField',
    typescript: 'number',
    values: () => [1.5, 2.5],
    wrong: '1.5',
    filter: () => 'range',
  },
  boolean: {
    form: 'boolean',
    sql: () => 'boolean',
    decorator: 'BooleanField',
    typescript: 'boolean',
    values: () => [true, false],
    wrong: 'true',
    filter: () => 'equal',
  },
  date: {
    form: 'date',
    sql: () => 'date',
    decorator: 'DateField',
    typescript: 'string',
    values: () => ['2026-01-01', '2026-01-02'],
    wrong: '2026-02-30',
    filter: () => 'range',
  },
  timestamp: {
    form: 'timestamp',
    sql: () => 'timestamptz(3)',
    columnOptions: 'TIMESTAMP_COLUMN',
    decorator: 'TimestampField',
    typescript: 'Date',
    values: () => ['2026-01-01T10:00:00.000Z', '2026-01-02T10:00:00.000Z'],
    wrong: '2026-01-01T10:00:00',
    filter: () => 'range',
  },
  json: {
    form: 'json',
    sql: () => 'jsonb',
    decorator: 'JsonField',
    typescript: 'JsonValue',
    values: () => [{ size: 1 }, { size: 2 }],
    wrong: null,
  },
  uuid: {
    form: 'uuid',
    sql: () => 'uuid',
    columnOptions: `'uuid'`,
    decorator: 'UuidField',
    typescript: 'string',
    values: () => [1, 2].map((digit) => `01920000-0000-7000-8000-00000000000${digit}`),
    wrong: '1',
    filter: () => 'equal',
  },
};

/** The parameters of lists, with the functions of the framework that declare them. The index of an order serves ranges, too. */
export const FILTERS = {
  none: { parameters: () => ({}) },
  equal: { isIndexed: true, parameters: (name) => ({ [name]: 'isEqual' }) },
  in: { isIndexed: true, parameters: (name) => ({ [name]: 'isIn' }) },
  prefix: { isSortable: true, parameters: (name) => ({ [name]: 'startsWith' }) },
  range: {
    isSortable: true,
    parameters: (name) => ({ [`${name}From`]: 'isAtLeast', [`${name}To`]: 'isAtMost' }),
  },
};
