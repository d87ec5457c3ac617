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

/** Enough to tell UTF-16 from UTF-8. */
const LEAST = 4;

export interface Source {
  /** `-` is stdin. */
  readonly file: string;
  readonly format: Format;
  readonly columns: readonly Column[];
  readonly names: ColumnNames;
  readonly convertText: TextConversion | undefined;
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
  return file === '-' ? 'stdin' : file;
}

export function refusedPath({ file, format }: Source): string {
  const { name, ext } = parse(file);
  return file === '-' ? `stdin.refused.${format}` : `${name}.refused${ext}`;
}

export async function inputOf(source: Source, bytes: AsyncIterable<Buffer>): Promise<Input> {
  const name = nameOf(source);
  const utf8 = withoutUtf16(name, bytes);
  if (source.format === 'ndjson') return ndjsonInput(name, withoutByteOrderMark(utf8));
  const { CsvInput } = await import('./csv/csv.js');
  return new CsvInput(name, utf8, source.columns, source.names, source.convertText);
}

async function* withoutUtf16(name: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (begun.length >= LEAST) yield chunk;
    else {
      begun = Buffer.concat([begun, chunk]);
      if (begun.length >= LEAST) yield checked(name, begun);
    }
  }
  if (begun.length < LEAST) yield checked(name, begun);
}

/** In UTF-16, bytes begin with its byte order mark, or every other byte of Latin letters is NUL. */
function checked(name: string, begun: Buffer): Buffer {
  const mark = begun.length < 2 ? 0 : begun.readUInt16BE();
  if (mark !== 0xfeff && mark !== 0xfffe && !begun.subarray(0, LEAST).includes(0)) return begun;
  throw new InputError(
    EXIT.usage,
    `${name} is in UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8`,
  );
}
