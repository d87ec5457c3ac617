import { open as openFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseExactJson, toInteger } from '@resource-service/framework/exact-json';
import { open, temporary } from './client.js';
import { CommandError, EXIT, isBrokenPipe, TemporaryFailure, usageError } from './command-error.js';
import type { Connection } from './connection.js';
import { csvHeader, csvRecord } from './csv-record.js';
import { formatOf } from './formats.js';
import type { Format } from './formats.js';
import { escapeFormula, isFormula } from './formulas.js';
import type { TextConversion } from './formulas.js';
import { Progress } from './progress.js';
import { ByteQueue } from './records.js';
import type { Column, Resource } from './resources.js';
import { Retries } from './retries.js';
import type { Limits } from './retries.js';
import type { Terminal } from './terminal.js';

const LINE_FEED = 0x0a;

export interface ExportOptions {
  readonly resource: Resource;
  readonly format?: Format;
  /** `-` is stdout. */
  readonly output: string;
  readonly filters: URLSearchParams;
  /** Whether a spreadsheet must not run what is exported. */
  readonly escapeFormulas?: boolean;
}

/** The subcommand `export`. Returns the exit code. */
export async function exportRecords(
  { resource, format, output, filters, escapeFormulas = false }: ExportOptions,
  connection: Connection,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
  limits: Limits,
): Promise<number> {
  const isCsv = formatOf(output, format) === 'csv';
  if (escapeFormulas && !isCsv) throw usageError('--escape-formulas is for CSV');
  const progress = new Progress(stderr, resource.name);
  const retries = new Retries(
    connection.service.identity.name,
    signal,
    (message) => progress.print(message),
    limits,
  );
  const lines = recordLines(resource.name, connection, filters, retries, signal);
  const text = counted(lines, progress);
  let formulas = 0;
  const convertText: TextConversion = (each) => {
    if (escapeFormulas) return escapeFormula(each);
    if (isFormula(each)) formulas += 1;
    return each;
  };
  const summary = () =>
    `${progress.rows} ${resource.name} in ${progress.seconds.toFixed(1)} s (${progress.speed})`;
  try {
    const converted = isCsv ? toCsv(resource.columns, text, convertText) : text;
    if (output === '-') await pipeline(converted, stdout, { end: false, signal });
    else await writeFile(output, converted, signal);
  } catch (error) {
    progress.stop();
    const isUsage = error instanceof CommandError && error.exitCode === EXIT.usage;
    if (!isUsage && !isBrokenPipe(error)) progress.print(`incomplete: ${summary()}`);
    throw error;
  }
  progress.stop();
  progress.print(`exported ${summary()}`);
  if (formulas > 0) {
    const texts = formulas === 1 ? '1 text looks' : `${formulas} texts look`;
    progress.print(
      `${texts} like a formula, which a spreadsheet runs: use --escape-formulas for a file that is opened in one`,
    );
  }
  return EXIT.done;
}

/** Under a temporary name until it is complete, so that a broken export is never taken for a complete one. */
async function writeFile(
  path: string,
  text: AsyncIterable<Buffer | string>,
  signal: AbortSignal,
): Promise<void> {
  const existing = await stat(path).catch(() => undefined);
  // A rename would replace a device, such as /dev/null.
  if (existing?.isFile() === false) throw usageError(`--output must name a file: ${path} is none`);
  const partial = `${path}.${process.pid}.part`;
  // Opened before the stream is made: a stream that fails while it opens its file would make it after it is removed.
  const file = await openFile(partial, 'wx').catch(({ code }: NodeJS.ErrnoException) => {
    const folder = dirname(path);
    throw usageError(
      code === 'ENOENT'
        ? `the folder ${folder} does not exist`
        : `cannot write to ${path}: ${code}`,
    );
  });
  try {
    await pipeline(text, file.createWriteStream({ flush: true }), { signal });
    await rename(partial, path);
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

/**
 * All records as chunks of whole lines. It goes on with the record after the last whole line until an answer proves to be
 * complete: by the empty line at its end or, since an older version of the service sends none, by having no records.
 */
async function* recordLines(
  name: string,
  connection: Connection,
  filters: URLSearchParams,
  retries: Retries,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const query = new URLSearchParams(filters);
  const attempts = retries.begin();
  let last: bigint | string | undefined;
  for (;;) {
    try {
      const response = await open(connection, {
        method: 'GET',
        path: `/${name}/export?${query.toString()}`,
        signal,
      });
      let isComplete = true;
      for await (const lines of wholeLines(response)) {
        isComplete = endsInEmptyLine(lines);
        const records = isComplete ? lines.subarray(0, -1) : lines;
        if (records.length === 0) continue;
        if (last !== undefined && firstId(records) <= last) {
          const why = `the ${name} do not come in ascending order of their ids`;
          throw new CommandError(EXIT.incomplete, why);
        }
        yield records;
        last = lastId(records);
        query.set('after', String(last));
        // Also after a long wait for the reader of stdout.
        attempts.succeeded();
      }
      if (isComplete) return;
      throw new TemporaryFailure('the answer ended before its empty line');
    } catch (error) {
      await attempts.failed(error);
    }
  }
}

async function* wholeLines(response: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const begun = new ByteQueue();
  try {
    for await (const chunk of response) {
      const end = chunk.lastIndexOf('\n') + 1;
      begun.push(chunk.subarray(0, end));
      if (end > 0) yield begun.take(begun.length);
      begun.push(chunk.subarray(end));
    }
  } catch (error) {
    throw temporary(error);
  }
  if (begun.length > 0) throw new TemporaryFailure('the answer ended in the middle of a line');
}

async function* counted(text: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const lines of text) {
    for (let at = lines.indexOf('\n'); at !== -1; at = lines.indexOf('\n', at + 1)) {
      progress.rows += 1;
    }
    yield lines;
  }
}

async function* toCsv(
  columns: readonly Column[],
  text: AsyncIterable<Buffer>,
  convertText: TextConversion,
): AsyncGenerator<string> {
  yield csvHeader(columns);
  for await (const lines of text) {
    const records = lines.toString().trimEnd().split('\n');
    yield records.map((line) => csvRecord(columns, parseRecord(line), convertText)).join('');
  }
}

/** A record in JSON has no line feed, so no other line is empty. */
function endsInEmptyLine(lines: Buffer): boolean {
  return lines.at(-1) === LINE_FEED && (lines.length === 1 || lines.at(-2) === LINE_FEED);
}

function firstId(lines: Buffer): bigint | string {
  return idOf(lines.toString('utf8', 0, lines.indexOf(LINE_FEED)));
}

function lastId(lines: Buffer): bigint | string {
  const start = lines.lastIndexOf('\n', lines.length - 2) + 1;
  return idOf(lines.toString('utf8', start));
}

/** A UUID has one form, in lower case, so its text has the order of the service. */
function idOf(line: string): bigint | string {
  const { id } = parseRecord(line);
  return typeof id === 'string' ? id : toInteger(id)!;
}

function parseRecord(line: string): Readonly<Record<string, unknown>> {
  return parseExactJson(line) as Record<string, unknown>;
}
