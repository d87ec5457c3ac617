import { createReadStream } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { batchesOf, readImport, ServiceError } from '@resource-service/client/runtime';
import type { Rejection as ServiceRejection } from '@resource-service/client/runtime';
import {
  ContactError,
  EXIT,
  exitCodeOf,
  explain,
  InputError,
  reasonOf,
  TemporaryError,
  textOf,
  usageError,
} from './command-error.js';
import type { Connection } from './connection/connection.js';
import { NDJSON, Requests } from './connection/requests.js';
import type { ColumnNames } from './csv/csv-header.js';
import { ErrorsFile, requireFolder } from './errors-file.js';
import type { Rejection } from './errors-file.js';
import { formatOf } from './formats.js';
import { unescapeFormula } from './csv/formulas.js';
import type { Format } from './formats.js';
import { choiceOf } from './help.js';
import { checkSource, checkText, inputOf, nameOf, refusedPath } from './inputs.js';
import { NewFile } from './new-file.js';
import { Progress } from './progress.js';
import type { Input, InputRecord } from './records.js';
import type { Resource } from './resources.js';
import type { Terminal } from './terminal.js';

const PRINTED = 20;

const MAX_RECORDS = 2_000;

export interface ImportOptions {
  readonly resource: Resource;
  readonly format?: Format;
  readonly concurrency: number;
  readonly refused?: string;
  readonly errors?: string;
  /** Whether the files were exported with `--escape-formulas`. */
  readonly unescapeFormulas?: boolean;
  /** What CSV files call columns otherwise. */
  readonly map?: ColumnNames;
  /** Between the columns of CSV files, unless their header lines tell. */
  readonly separator?: string;
  readonly json?: boolean;
}

type Sendable = InputRecord & { readonly json: Buffer };

const NEWLINE = Buffer.from('\n');

export async function importFiles(
  files: readonly string[],
  options: ImportOptions,
  connection: Connection,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { name, columns } = options.resource;
  if (options.refused !== undefined && files.length > 1) {
    throw usageError('--refused can be used with one FILE only');
  }
  const { unescapeFormulas = false } = options;
  const names: ColumnNames = options.map ?? new Map();
  const convertText = unescapeFormulas ? unescapeFormula : undefined;
  const { refused: refusedFile, separator } = options;
  const { identity, defaultResource } = connection.service;
  const command = `${identity.name} import${choiceOf(name, '--resource', defaultResource)}`;
  for (const file of files) await checkText(file, command, options.format);
  const sources = files.map((file) => {
    const format = formatOf(file, options.format);
    const isCsv = format === 'csv';
    if (unescapeFormulas && !isCsv) throw usageError('--unescape-formulas is for CSV');
    if (names.size > 0 && !isCsv) throw usageError('--map is for CSV');
    if (separator !== undefined && !isCsv) throw usageError('--separator is for CSV');
    return { command, file, columns, names, separator, format, convertText };
  });
  if (refusedFile !== undefined) requireFolder('--refused', refusedFile);
  const errors = options.errors === undefined ? undefined : new ErrorsFile(options.errors);
  let size = 0;
  for (const source of sources) size += await checkSource(source);
  const progress = new Progress(terminal.stderr, name, files.includes('-') ? undefined : size);
  const run = new Import(name, connection, options.concurrency, progress, errors, signal);
  let thrown: unknown;
  try {
    for (const source of sources) {
      const { file } = source;
      const refused = new NewFile(refusedFile ?? refusedPath(source), 'the refused records');
      const bytes = file === '-' ? terminal.stdin : createReadStream(file);
      addAbortSignal(run.signal, bytes);
      try {
        const say = (text: string) => progress.print(text);
        await run.add(nameOf(source), await inputOf(source, bytes, say), refused);
      } finally {
        await refused.close();
      }
    }
  } catch (error) {
    thrown = error;
  } finally {
    await errors?.close();
  }
  progress.stop();
  const inputError = thrown instanceof InputError ? thrown : undefined;
  if (inputError?.exitCode === EXIT.usage && !run.hasSent) throw inputError;
  run.report(terminal, options.json);
  if (thrown === undefined) return run.refused > 0 ? EXIT.refused : EXIT.done;
  progress.print(explain(thrown, signal, identity.name));
  progress.print(
    `The import is incomplete. ${remedyFor(thrown)} it again: what is stored stays, and is not stored twice.`,
  );
  return inputError || thrown instanceof ServiceError
    ? EXIT.incomplete
    : exitCodeOf(thrown, signal);
}

function remedyFor(thrown: unknown): string {
  if (thrown instanceof InputError) return 'Mend the file, then run';
  return thrown instanceof ContactError || thrown instanceof ServiceError
    ? 'Correct this, then run'
    : 'Run';
}

/** Sends batches, several at a time, and counts what becomes of their records. */
class Import {
  refused = 0;
  hasSent = false;
  private created = 0;
  private unchanged = 0;
  private printed = 0;
  /** The first error ends the import. */
  private thrown: unknown;
  private readonly refusedFiles: string[] = [];
  private readonly requests: Requests;
  private readonly stop = new AbortController();
  /** Aborted when the import cannot go on. */
  readonly signal: AbortSignal;

  constructor(
    private readonly resource: string,
    connection: Connection,
    private readonly concurrency: number,
    private readonly progress: Progress,
    private readonly errors: ErrorsFile | undefined,
    signal: AbortSignal,
  ) {
    this.signal = AbortSignal.any([signal, this.stop.signal]);
    this.requests = new Requests(connection, this.signal, (message) => progress.print(message));
  }

  async add(name: string, input: Input, refusedFile: NewFile): Promise<void> {
    const sending: Promise<readonly Rejection[]>[] = [];
    // The oldest first, so that refused records stay in their order.
    const settle = async () => {
      const rejections = await sending.shift()!;
      this.print(name, rejections);
      const sources = rejections.map(({ record }) => record.source);
      try {
        await refusedFile.append(input.header, sources);
        await this.errors?.add(name, rejections);
      } catch (error) {
        this.fail(error);
      }
    };
    // What comes before the rest that cannot be read is sent.
    let unreadable: unknown;
    const records = async function* () {
      try {
        yield* input.records();
      } catch (error) {
        unreadable = error;
      }
    };
    for await (const batch of batchesOf(records(), MAX_RECORDS, sizeOf)) {
      if (sending.length === this.concurrency) await settle();
      if (this.thrown !== undefined) break;
      sending.push(this.send(batch));
    }
    this.thrown ??= unreadable;
    while (sending.length > 0) await settle();
    if (refusedFile.name !== undefined) this.refusedFiles.push(refusedFile.name);
    if (this.thrown !== undefined) throw this.thrown as Error;
  }

  report({ stdout }: Terminal, isJson = false): void {
    const { created, unchanged, refused, refusedFiles } = this;
    const { seconds, speed } = this.progress;
    const counts = `created ${created}, unchanged ${unchanged}, refused ${refused}`;
    const json = { created, unchanged, refused, seconds, refusedFiles };
    stdout.write(
      isJson ? `${JSON.stringify(json)}\n` : `${counts} in ${seconds.toFixed(1)} s (${speed})\n`,
    );
    if (this.refused > PRINTED) {
      const hint = this.errors === undefined ? ': --errors FILE saves all reasons' : '';
      this.progress.print(`${this.refused - PRINTED} more are refused${hint}`);
    }
    for (const file of this.refusedFiles) {
      this.progress.print(`The refused records are in ${file}: mend them, then import this file.`);
    }
    if (this.errors?.name !== undefined) {
      this.progress.print(`The reasons are in ${this.errors.name}.`);
    }
    if (this.requests.repeats > 0) {
      this.progress.print(
        'Requests were repeated. What a request stored before it failed counts as unchanged.',
      );
    }
  }

  private fail(error: unknown): void {
    this.thrown ??= error;
    this.stop.abort();
  }

  /** Never rejects. An error ends the other requests, too. */
  private async send(batch: readonly InputRecord[]): Promise<readonly Rejection[]> {
    try {
      const rejections = await this.post(batch.filter((record) => 'json' in record));
      for (const record of batch) {
        if ('fault' in record) rejections.push({ record, reason: { message: record.fault } });
      }
      this.refused += rejections.length;
      this.progress.rows += batch.length;
      this.progress.bytes += batch.reduce((sum, { source }) => sum + source.length, 0);
      return rejections.toSorted((a, b) => a.record.line - b.record.line);
    } catch (error) {
      this.fail(error);
      return [];
    }
  }

  private async post(records: readonly Sendable[]): Promise<Rejection[]> {
    if (records.length === 0) return [];
    this.hasSent = true;
    const call = {
      method: 'POST',
      path: `/${this.resource}/import`,
      headers: { Accept: NDJSON, 'Content-Type': NDJSON },
      content: Buffer.concat(records.flatMap(({ json }) => [json, NEWLINE])),
    } as const;
    try {
      return await this.requests.send(call, async (response) => {
        const refused: ServiceRejection[] = [];
        const summary = await readImport(this.requests.lines(response), response, refused);
        if (!summary) throw new TemporaryError('the response ended before the summary');
        this.created += summary.created;
        this.unchanged += summary.unchanged;
        return refused.map(({ line, code: error, message }) => ({
          record: records[line - 1]!,
          reason: { error, message },
        }));
      });
    } catch (error) {
      // A proxy accepts shorter bodies than the service.
      if (!(error instanceof ServiceError && error.status === 413)) throw error;
      if (records.length === 1) return [{ record: records[0]!, reason: reasonOf(error) }];
      const half = Math.ceil(records.length / 2);
      const first = await this.post(records.slice(0, half));
      return [...first, ...(await this.post(records.slice(half)))];
    }
  }

  private print(name: string, rejections: readonly Rejection[]): void {
    for (const { record, reason } of rejections) {
      this.printed += 1;
      if (this.printed <= PRINTED) this.progress.print(`${name}:${record.line}: ${textOf(reason)}`);
    }
  }
}

/** How many bytes a request or, if it cannot be sent, the file has of a record. */
function sizeOf(record: InputRecord): number {
  return 'json' in record ? record.json.length + 1 : record.source.length;
}
