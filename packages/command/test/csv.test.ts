import fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvHeader, csvRecord } from '../src/csv/csv-record.js';
import { CsvInput } from '../src/csv/csv.js';
import { escapeFormula, isFormula, unescapeFormula } from '../src/csv/formulas.js';
import type { InputRecord } from '../src/records.js';
import type { Column } from '../src/resources.js';
import { parseExactJson } from '@resource-service/framework/exact-json';

const TOOL_COLUMNS: readonly Column[] = [
  { name: 'id', type: 'integer', isOptional: false },
  { name: 'name', type: 'text', isOptional: false },
  { name: 'tag', type: 'text', isOptional: true },
];
const TOOL_HEADER = csvHeader(TOOL_COLUMNS);

const COLUMNS: readonly Column[] = [
  ...TOOL_COLUMNS,
  { name: 'height', type: 'number', isOptional: true },
  { name: 'isRare', type: 'boolean', isOptional: true },
  { name: 'care', type: 'json', isOptional: true },
];

interface Tool {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | undefined;
}

const TEXT = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', '\ufeff', ' ', 'a', '🌵') }),
);

const TOOL: fc.Arbitrary<Tool> = fc.record({
  id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  name: TEXT,
  tag: fc.option(TEXT, { nil: undefined }),
});

async function read(
  text: string,
  pieceLength: number,
  columns = TOOL_COLUMNS,
): Promise<InputRecord[]> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceLength) }, (_, at) =>
    bytes.subarray(at * pieceLength, (at + 1) * pieceLength),
  );
  const input = new CsvInput(
    'a.csv',
    (async function* () {
      yield* pieces;
    })(),
    columns,
  );
  const records: InputRecord[] = [];
  for await (const record of input.records()) records.push(record);
  return records;
}

/** The request lines that the tools are to become. */
function jsonOf({ id, name, tag }: Tool): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
}

function csvOf(columns: readonly Column[], json: string): string {
  return csvRecord(columns, parseExactJson(json) as Record<string, unknown>);
}

function jsonIn(record: InputRecord): string {
  return 'json' in record ? record.json.toString() : record.fault;
}

it('any tools come back from CSV, whatever the pieces in which it is read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(TOOL), fc.integer({ min: 1, max: 50 }), async (tools, length) => {
      const records = tools.map((tool) => csvOf(TOOL_COLUMNS, jsonOf(tool)));
      const found = await read(TOOL_HEADER + records.join(''), length);
      expect(found.map(jsonIn)).toEqual(tools.map(jsonOf));
      expect(found.map(({ source }) => source.toString())).toEqual(records);
    }),
  );
});

it('values of any type come back from CSV, with all digits', async () => {
  const values = fc.record({
    height: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }), { nil: undefined }),
    isRare: fc.option(fc.boolean(), { nil: undefined }),
  });
  const care = fc.oneof(
    fc.json().filter((json) => json.trim() !== 'null'),
    fc.constantFrom('"5"', '""', '{"ids":[9223372036854775807,1e400],"to":null}'),
  );
  await fc.assert(
    fc.asyncProperty(TOOL, values, care, async (tool, others, json) => {
      const rest = JSON.stringify(others).slice(1, -1);
      const sent = `${jsonOf(tool).slice(0, -1)},${rest}${rest && ','}"care":${json}}`;
      const [record] = await read(csvHeader(COLUMNS) + csvOf(COLUMNS, sent), 10, COLUMNS);
      expect(parseExactJson(jsonIn(record!))).toEqual(parseExactJson(sent));
    }),
  );
});

it.each([
  ['height', '1.5e3', '1.5e3'],
  ['height', '1,5', '"1,5"'],
  ['height', '0x10', '"0x10"'],
  ['isRare', 'TRUE', 'true'],
  ['isRare', 'yes', '"yes"'],
  ['care', '{\n"a": [1.0, 1E400]\r\n}', '{ "a": [1.0, 1E400]  }'],
  ['care', 'much water', '"much water"'],
])('sends %s %j as %s, which the service may refuse', async (column, field, json) => {
  const [record] = await read(
    `id,name,${column}\n1,a,"${field.replaceAll('"', '""')}"`,
    10,
    COLUMNS,
  );
  expect(jsonIn(record!)).toBe(`{"id":1,"name":"a","${column}":${json}}`);
});

it('loses nothing of a file that is not CSV', async () => {
  await fc.assert(
    fc.asyncProperty(TEXT, fc.integer({ min: 1, max: 50 }), async (text, length) => {
      const found = await read(`${TOOL_HEADER}${text}`, length);
      const ofOneLine = (part: string) => part.replaceAll(/[\r\n]/g, '');
      expect(ofOneLine(found.map(({ source }) => source.toString()).join(''))).toBe(
        ofOneLine(text),
      );
    }),
    { numRuns: 150 },
  );
});

/** As other programs write CSV: quotes only where they are needed, columns in any order, any line end. */
it('reads what other programs write, and finds the line of each record', async () => {
  const plain = /^[^",\r\n]+$/;
  const field = (text: string | undefined, quoted: boolean) =>
    text === undefined || (!quoted && plain.test(text)) ? text : `"${text.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ tool: TOOL, quoted: fc.boolean(), blank: fc.boolean() })),
      fc.shuffledSubarray(['id', 'name', 'tag'] as const, { minLength: 3 }),
      fc.constantFrom('\n', '\r\n'),
      fc.integer({ min: 1, max: 50 }),
      async (rows, columns, end, length) => {
        let text = columns.join() + end;
        const expected = rows.map(({ tool, quoted, blank }) => {
          if (blank) text += end;
          const line = text.split(/\r\n|\r|\n/).length;
          const values = { ...tool, id: String(tool.id) };
          text += columns.map((column) => field(values[column], quoted)).join() + end;
          return [line, JSON.parse(jsonOf(tool).replace(/"id":(-?\d+)/, '"id":"$1"')) as unknown];
        });
        const found = await read(text, length);
        const parsed = found.map((record) => [
          record.line,
          JSON.parse(jsonIn(record).replace(/"id":(-?\d+)/, '"id":"$1"')) as unknown,
        ]);
        expect(parsed).toEqual(expected);
      },
    ),
  );
});

const FORMULA_TEXT = fc.oneof(
  TEXT,
  fc.string({ unit: fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '\n', ' ', '＝', 'a') }),
);

it('an escaped text is no formula, and comes back', () => {
  fc.assert(
    fc.property(FORMULA_TEXT, (text) => {
      expect(isFormula(escapeFormula(text))).toBe(false);
      expect(unescapeFormula(escapeFormula(text))).toBe(text);
    }),
  );
});

it.each([
  ['=HYPERLINK("https://x.test")', true],
  ['+1', true],
  ['-1+1', true],
  ['@SUM(1)', true],
  [' =1', true],
  ['\t=1', true],
  ['\rx', true],
  ['＝1', true],
  ["'=1", false],
  ['a=1', false],
  ["'t Hooft", false],
  ['', false],
])('%j is a formula: %j', (text, expected) => {
  expect(isFormula(text)).toBe(expected);
  // Other texts stay as they are.
  expect(escapeFormula(text) === text).toBe(!expected && text !== "'=1");
});
