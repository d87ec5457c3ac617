import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { CsvError, Parser } from 'csv-parse';
import type { CastingContext } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { columnsOf, headerError, pluralOf, separatorOf } from './csv-header.js';
import type { ColumnNames } from './csv-header.js';
import type { TextConversion } from './formulas.js';
import { ByteQueue, MAX_RECORD, tooLong } from '../records.js';
import type { Content, Input, InputRecord } from '../records.js';
import type { Column } from '../resources.js';

// A list, because the parser would otherwise expect the line end of the first line in all lines.
const FORMAT = { record_delimiter: ['\r\n', '\n', '\r'], relax_column_count: true };

/** Finds the ends of records, also of records whose quotes are wrong. */
const TOLERANT = {
  ...FORMAT,
  bom: true,
  skip_empty_lines: true,
  relax_quotes: true,
  skip_records_with_error: true,
};

/** More than the parser and its streams hold of records that are not yet read from them. */
const READ_AHEAD = 1024 ** 2;

interface Parsed {
  readonly fields: readonly string[];
  readonly end: number;
}

/** The parser's own option `info` copies an object for each record, which takes most of the time. */
class RecordParser extends Parser {
  override push(fields: readonly string[] | null): boolean {
    return super.push(fields && ({ fields, end: this.info.bytes } satisfies Parsed));
  }
}

export class CsvInput implements Input {
  header: Buffer = Buffer.alloc(0);
  private readonly unread = new ByteQueue();
  private line = 1;

  constructor(
    private readonly name: string,
    private readonly source: AsyncIterable<Buffer>,
    private readonly columns: readonly Column[],
    private readonly names: ColumnNames = new Map(),
    private readonly convertText?: TextConversion,
    /** By default what the header line has. */
    private separator?: string,
    private readonly say: (text: string) => void = () => {},
  ) {}

  async *records(): AsyncGenerator<InputRecord> {
    const chunks = this.kept();
    const { value: beginning } = await chunks.next();
    const delimiter = this.separator ?? this.guessed(beginning ?? Buffer.alloc(0));
    const bytes = Readable.from(joined(beginning, chunks), { objectMode: false });
    // An error of the source destroys the parser, and so ends the loop.
    const parser = pipeline(bytes, new RecordParser({ ...TOLERANT, delimiter }), () => undefined);
    let columns: readonly (Column | undefined)[] | undefined;
    let position = 0;
    for await (const { fields, end } of parser as AsyncIterable<Parsed>) {
      const { line, source } = this.next(end - position);
      position = end;
      if (columns !== undefined)
        yield { line, source, ...contentOf(columns, fields, source, delimiter, this.convertText) };
      else {
        columns = columnsOf(this.name, fields, source, this.columns, this.names);
        this.header = source;
      }
    }
    if (columns === undefined) {
      const fault = this.unread.length === 0 ? 'the file is empty' : 'a quote is not closed';
      throw headerError(this.name, fault, this.columns);
    }
    const { line, source } = this.next(this.unread.length);
    if (source.length > 0) yield { line, source, fault: 'a quote is not closed' };
  }

  private guessed(beginning: Buffer): string {
    const separator = separatorOf(beginning, this.columns, this.names);
    if (separator === undefined) return ',';
    this.say(`${this.name}: the columns are separated by ${pluralOf(separator)}`);
    return separator;
  }

  /** Keeps what the parser has received until it returns the records. */
  private async *kept(): AsyncGenerator<Buffer, undefined> {
    for await (const chunk of this.source) {
      this.unread.push(chunk);
      yield chunk;
      if (this.unread.length > MAX_RECORD + READ_AHEAD) return;
    }
  }

  private next(length: number): { readonly line: number; readonly source: Buffer } {
    const taken = this.unread.take(length);
    const start = taken.findIndex((byte) => byte !== 0x0a && byte !== 0x0d);
    const source = taken.subarray(start === -1 ? length : start);
    const line = this.line + countLines(taken.subarray(0, length - source.length));
    if (source.length > MAX_RECORD) throw tooLong(this.name, line);
    this.line = line + countLines(source);
    return { line, source };
  }
}

async function* joined(
  beginning: Buffer | undefined,
  rest: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  if (beginning !== undefined) yield beginning;
  yield* rest;
}

/** Line ends as the parser counts them: LF, CRLF and CR. */
function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === 0x0a || (bytes[at] === 0x0d && bytes[at + 1] !== 0x0a)) count += 1;
  }
  return count;
}

function contentOf(
  columns: readonly (Column | undefined)[],
  fields: readonly string[],
  source: Buffer,
  delimiter: string,
  convertText: TextConversion | undefined,
): Content {
  if (!isUtf8(source)) return { fault: 'it is not UTF-8' };
  if (fields.length !== columns.length) {
    return { fault: `number of fields: ${fields.length} instead of ${columns.length}` };
  }
  try {
    const values = strictFields(fields, source, delimiter);
    const properties = columns.flatMap((column, at) => {
      const field = values[at];
      if (column === undefined || field === undefined) return [];
      const text = column.type === 'text' ? (convertText?.(field) ?? field) : field;
      return [`"${column.name}":${jsonOf(column, text)}`];
    });
    return { json: Buffer.from(`{${properties.join()}}`) };
  } catch (error) {
    if (error instanceof RangeError) return { fault: error.message };
    if (error instanceof CsvError) return { fault: 'a quote is at the wrong place' };
    throw error;
  }
}

/** @throws CsvError if the quotes are wrong */
function strictFields(
  fields: readonly string[],
  source: Buffer,
  delimiter: string,
): readonly (string | undefined)[] {
  const isSuspect = fields.some((field) => field.includes('"'));
  if (!isSuspect && !fields.includes('')) return fields;
  // Without "" in the record, every empty field is one without quotes.
  if (!isSuspect && !source.includes('""')) return fields.map((field) => field || undefined);
  // `cast` is slow, because the parser makes a context for each field.
  const cast = (field: string, { quoting }: CastingContext) =>
    field === '' && !quoting ? undefined : field;
  const [strict = []] = parse(source, { ...FORMAT, delimiter, cast }) as (string | undefined)[][];
  return strict;
}

const INTEGER = /^-?(0|[1-9]\d*)$/;

const PADDED = /^-?0\d+$/;

const BOOLEAN = /^(true|false)$/i;

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * What does not fit its column stays text, which the service rejects. Spreadsheets write 1E+15 for a rounded integer, and
 * TRUE for true.
 *
 * @throws RangeError if a number has zeros before it, which its JSON would lose
 */
function jsonOf({ name, type }: Column, field: string): string {
  if (type === 'integer' && INTEGER.test(field)) return field;
  if (type === 'number' && NUMBER.test(field)) return field;
  if (type === 'boolean' && BOOLEAN.test(field)) return field.toLowerCase();
  // With all digits, but without line ends, which would end the line of the request.
  if (type === 'json' && isJson(field)) return field.replaceAll(/[\r\n]/g, ' ');
  if (type !== 'text' && PADDED.test(field)) {
    throw new RangeError(`${name} must be a number without zeros before it, but is ${field}`);
  }
  return JSON.stringify(field);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
