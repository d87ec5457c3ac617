import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { withoutByteOrderMark } from '@resource-service/framework/exact-json';
import { EXIT, InputError, usageError } from './command-error.js';
import type { ColumnNames } from './csv/csv-header.js';
import type { Format } from './formats.js';
import type { TextConversion } from './csv/formulas.js';
import { ndjsonInput } from './records.js';
import type { Input } from './records.js';
import type { Column } from './resources.js';

/** How much of each file is read before anything is sent. More than any header line has. */
const BEGINNING = 64 * 1024;

/** Enough to tell UTF-16 from UTF-8, and text from other files. */
const LEAST = 4;

export interface Source {
  /** What imports this resource, such as `tool-library import --resource loans`, for what the command says to run. */
  readonly command: string;
  /** `-` is stdin. */
  readonly file: string;
  readonly format: Format;
  readonly columns: readonly Column[];
  readonly names: ColumnNames;
  readonly separator: string | undefined;
  readonly convertText: TextConversion | undefined;
}

const STDIN = 'stdin';

const WORKBOOK = 'is a workbook of a spreadsheet: save it there as CSV in UTF-8, and import that';

/**
 * @param format if the arguments name it
 * @throws CommandError if a file is no text, whatever its extension
 */
export async function checkText(
  file: string,
  command: string,
  format: Format | undefined,
): Promise<void> {
  const isFile = (await stat(file).catch(() => undefined))?.isFile();
  if (!isFile) return;
  const beginning = createReadStream(file, { end: LEAST - 1 }).toArray() as Promise<Buffer[]>;
  // What cannot be read is told later.
  const [begun] = await beginning.catch(() => []);
  if (begun !== undefined) requireText(file, begun, command, format);
}

function requireText(
  name: string,
  begun: Buffer,
  command: string,
  format: Format = name.includes('.csv') ? 'csv' : 'ndjson',
): void {
  const digits = begun.toString('hex', 0, LEAST);
  const isGzip = digits.startsWith('1f8b');
  // Of Office Open XML, which is a ZIP archive, and of the format before it.
  if (!isGzip && digits !== '504b0304' && digits !== 'd0cf11e0') return;
  const option = format === 'csv' ? '--format csv ' : '';
  const gunzip = `is compressed with gzip: gunzip -c ${inShell(name)} | ${command} ${option}-`;
  throw new InputError(EXIT.usage, `${name} ${isGzip ? gunzip : WORKBOOK}`);
}

/** The argument of a shell that names a file. Standard input has no name there. */
function inShell(name: string): string {
  if (name === STDIN) return 'FILE';
  return /^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Checks that a file can be read, and how it begins, and returns its size. Of what can be read only once, such as a pipe, the
 * beginning is checked later.
 */
export async function checkSource(source: Source): Promise<number> {
  const { file } = source;
  if (file === '-') return 0;
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) throw usageError(`${file} is a folder`);
    await access(file, constants.R_OK);
    if (stats.isFile()) await checkBeginning(source);
    return stats.size;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw usageError(
      code === 'ENOENT' ? `${file} does not exist` : `${file} cannot be read: ${code}`,
    );
  }
}

async function checkBeginning(source: Source): Promise<void> {
  const beginning = createReadStream(source.file, { end: BEGINNING - 1 });
  const records = (await inputOf(source, beginning)).records();
  // Looks at the first record only.
  for await (const _ of records) break;
}

export function nameOf({ file }: Source): string {
  return file === '-' ? STDIN : file;
}

export function refusedPath({ file, format }: Source): string {
  const { name, ext } = parse(file);
  return file === '-' ? `stdin.refused.${format}` : `${name}.refused${ext}`;
}

/** @param say is told what was guessed */
export async function inputOf(
  source: Source,
  bytes: AsyncIterable<Buffer>,
  say?: (text: string) => void,
): Promise<Input> {
  const name = nameOf(source);
  const utf8 = checkedText(name, bytes, source);
  if (source.format === 'ndjson') return ndjsonInput(name, withoutByteOrderMark(utf8));
  const { CsvInput } = await import('./csv/csv.js');
  const { columns, names, convertText, separator } = source;
  return new CsvInput(name, utf8, columns, names, convertText, separator, say);
}

/** The first chunk has a whole line, unless the line is too long for a header line. */
async function* checkedText(
  name: string,
  bytes: AsyncIterable<Buffer>,
  source: Source,
): AsyncGenerator<Buffer> {
  let begun: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (begun === undefined) yield chunk;
    else {
      begun = Buffer.concat([begun, chunk]);
      const hasLine = begun.length >= LEAST && (begun.includes('\n') || begun.includes('\r'));
      if (!hasLine && begun.length < BEGINNING) continue;
      yield checked(name, begun, source);
      begun = undefined;
    }
  }
  if (begun !== undefined) yield checked(name, begun, source);
}

/** In UTF-16, bytes begin with its byte order mark, or every other byte of Latin letters is NUL. */
function checked(name: string, begun: Buffer, { command, format }: Source): Buffer {
  requireText(name, begun, command, format);
  const mark = begun.length < 2 ? 0 : begun.readUInt16BE();
  if (mark !== 0xfeff && mark !== 0xfffe && !begun.subarray(0, LEAST).includes(0)) return begun;
  throw new InputError(
    EXIT.usage,
    `${name} is in UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8`,
  );
}
