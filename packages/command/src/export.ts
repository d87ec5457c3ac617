import { open as openFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Lines } from '@resource-service/client/runtime';
import { parseExactJson, toInteger } from '@resource-service/framework/exact-json';
import {
  CommandError,
  EXIT,
  exitCodeOf,
  isBrokenPipe,
  TemporaryError,
  usageError,
} from './command-error.js';
import type { Connection } from './connection/connection.js';
import { NDJSON, Requests } from './connection/requests.js';
import { csvHeader, csvRecord } from './csv/csv-record.js';
import { formatOf } from './formats.js';
import type { Format } from './formats.js';
import { escapeFormula, isFormula } from './csv/formulas.js';
import type { TextConversion } from './csv/formulas.js';
import { Progress } from './progress.js';
import type { Resource } from './resources.js';
import type { Terminal } from './terminal.js';

export interface ExportOptions {
  readonly resource: Resource;
  readonly format?: Format;
  /** `-` is stdout. */
  readonly output: string;
  readonly overwrite?: boolean;
  readonly filters: URLSearchParams;
  /** Whether a spreadsheet must not run what is exported. */
  readonly escapeFormulas?: boolean;
  /** Whether standard output has the summary as JSON. */
  readonly json?: boolean;
}

export async function exportRecords(
  options: ExportOptions,
  connection: Connection,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { resource, format, output, overwrite = false, filters } = options;
  const { escapeFormulas = false, json = false } = options;
  const isCsv = formatOf(output, format) === 'csv';
  if (escapeFormulas && !isCsv) throw usageError('--escape-formulas is for CSV');
  if (json && output === '-') {
    throw usageError('--json needs --output: standard output has the records');
  }
  const progress = new Progress(stderr, resource.name);
  const requests = new Requests(connection, signal, (message) => progress.print(message));
  let formulas = 0;
  const convertText: TextConversion = (each) => {
    if (escapeFormulas) return escapeFormula(each);
    if (isFormula(each)) formulas += 1;
    return each;
  };
  const { name, columns } = resource;
  const text = async function* () {
    if (isCsv) yield csvHeader(columns);
    for await (const lines of recordLines(name, filters, requests)) {
      progress.rows += lines.length;
      yield isCsv
        ? lines.map((line) => csvRecord(columns, parseRecord(line), convertText)).join('')
        : `${lines.join('\n')}\n`;
    }
  };
  const summary = () =>
    `${progress.rows} ${resource.name} in ${progress.seconds.toFixed(1)} s (${progress.speed})`;
  try {
    if (output === '-') await pipeline(text, stdout, { end: false, signal });
    else await writeFile(output, text, overwrite, signal);
  } catch (error) {
    progress.stop();
    const isUsage = exitCodeOf(error, signal) === EXIT.usage;
    if (!isUsage && !isBrokenPipe(error)) progress.print(`incomplete: ${summary()}`);
    throw error;
  }
  progress.stop();
  const { rows, seconds } = progress;
  if (json) stdout.write(`${JSON.stringify({ exported: rows, seconds, formulas })}\n`);
  else progress.print(`exported ${summary()}`);
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
  text: () => AsyncIterable<string>,
  overwrite: boolean,
  signal: AbortSignal,
): Promise<void> {
  const existing = await stat(path).catch(() => undefined);
  // A rename would replace a device, such as /dev/null.
  if (existing?.isFile() === false) throw usageError(`--output must name a file: ${path} is none`);
  if (existing && !overwrite) {
    throw usageError(`${path} exists: choose another --output, or replace it with --overwrite`);
  }
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
    if (!overwrite) await claim(path, partial);
    await rename(partial, path);
  } catch (error) {
    if (error instanceof LateFileError) throw error;
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

/** Another program made the file during the export. */
class LateFileError extends CommandError {}

/** A rename would replace a file that was made meanwhile. Not every file system has hard links, which would not. */
async function claim(path: string, complete: string): Promise<void> {
  const file = await openFile(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    const message = `${path} was made during the export, which is complete in ${complete}`;
    throw new LateFileError(EXIT.incomplete, message);
  });
  await file.close();
}

/**
 * All records, as many lines at a time as arrive at once. It goes on after the last whole line until a response proves to be
 * complete: by the empty line at its end or, since an older version of the service sends none, by having no records.
 */
function recordLines(
  name: string,
  filters: URLSearchParams,
  requests: Requests,
): AsyncGenerator<readonly string[], void> {
  let last: bigint | string | undefined;
  return requests.resume(async function* () {
    const query = { ...Object.fromEntries(filters), after: last };
    const headers = { Accept: NDJSON };
    const call = { method: 'GET', path: `/${name}/export`, query, headers } as const;
    const { body } = await requests.once(call, async (response) => response);
    const lines = new Lines();
    let isComplete = true;
    for await (const chunk of body!) {
      const records = lines.endedBy(chunk);
      if (records.length === 0) continue;
      isComplete = records.at(-1) === '';
      if (isComplete) records.pop();
      const [first] = records;
      if (first === undefined) continue;
      if (last !== undefined && idOf(first) <= last) {
        const why = `the ${name} do not come in ascending order of their ids`;
        throw new CommandError(EXIT.incomplete, why);
      }
      last = idOf(records.at(-1)!);
      yield records;
    }
    if (lines.isCut) throw new TemporaryError('the response ended in the middle of a line');
    if (!isComplete) throw new TemporaryError('the response ended before its empty line');
  });
}

/** A UUID has one form, in lower case, so its text has the order of the service. */
function idOf(line: string): bigint | string {
  const { id } = parseRecord(line);
  return typeof id === 'string' ? id : toInteger(id)!;
}

function parseRecord(line: string): Readonly<Record<string, unknown>> {
  return parseExactJson(line) as Record<string, unknown>;
}
