import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { batchesOf } from './batches.js';
import type { Batch } from './batches.js';
import { open, readText, RequestRefused } from './client.js';
import { EXIT, exitCodeOf, explain, TemporaryFailure, usageError } from './command-error.js';
import type { Connection } from './connection.js';
import { formatOf } from './formats.js';
import type { Format } from './formats.js';
import { Progress } from './progress.js';
import { NdjsonInput } from './records.js';
import type { Input, InputRecord } from './records.js';
import type { Resource } from './resources.js';
import { RefusedFile } from './refused-file.js';
import { Retries } from './retries.js';
import type { Limits } from './retries.js';
import type { Terminal } from './terminal.js';

/** How many refused records are printed. */
const PRINTED = 20;

export interface ImportOptions {
  readonly resource: Resource;
  readonly format?: Format;
  /** How many requests run at a time. */
  readonly concurrency: number;
  /** File for the refused records. */
  readonly refused?: string;
}

/** A record that is not stored. */
interface Refusal {
  readonly record: InputRecord;
  readonly reason: string;
}

/** What the service did with the records of a request. */
interface Answer {
  readonly created: number;
  readonly unchanged: number;
  readonly refusals: Refusal[];
}

/** A line of the service's answer: a refused line, the reason why it cannot go on, or the summary at the end. */
type AnswerLine =
  | { readonly line?: number; readonly error: number; readonly message: string }
  | { readonly created: number; readonly unchanged: number };

type Sendable = InputRecord & { readonly json: Buffer };

const NEWLINE = Buffer.from('\n');

/** `plant-store import`. Returns the exit code. */
export async function importFiles(
  files: readonly string[],
  options: ImportOptions,
  connection: Connection,
  terminal: Terminal,
  signal: AbortSignal,
  limits: Limits,
): Promise<number> {
  const { resource } = options;
  if (options.refused !== undefined && files.length > 1) {
    throw usageError('--refused can be used with one FILE only');
  }
  const formats = files.map((file) => formatOf(file, options.format));
  const sizes = await Promise.all(files.map(sizeOf));
  const progress = new Progress(
    terminal.stderr,
    resource.name,
    files.includes('-') ? undefined : sizes.reduce((sum, size) => sum + size, 0),
  );
  const run = new Import(resource.name, connection, options.concurrency, progress, signal, limits);
  let failure: unknown;
  try {
    for (const [at, file] of files.entries()) {
      const format = formats[at]!;
      const refused = new RefusedFile(options.refused ?? refusedPath(file, format));
      const source = file === '-' ? terminal.stdin : createReadStream(file);
      addAbortSignal(run.signal, source);
      const name = file === '-' ? 'stdin' : file;
      try {
        await run.add(name, await inputOf(resource, format, name, source), refused);
      } finally {
        await refused.close();
      }
    }
  } catch (error) {
    failure = error;
  }
  progress.stop();
  run.report(terminal);
  if (failure === undefined) return run.refused > 0 ? EXIT.refused : EXIT.done;
  progress.print(explain(failure, signal));
  progress.print(
    'The import is incomplete. Run it again: what is stored stays, and is not stored twice.',
  );
  return exitCodeOf(failure, signal);
}

async function sizeOf(file: string): Promise<number> {
  if (file === '-') return 0;
  const { size } = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${file} cannot be read: ${error.code}`);
  });
  return size;
}

function refusedPath(file: string, format: Format): string {
  const { name, ext } = parse(file);
  return file === '-' ? `stdin.refused.${format}` : `${name}.refused${ext}`;
}

async function inputOf(
  resource: Resource,
  format: Format,
  name: string,
  source: AsyncIterable<Buffer>,
): Promise<Input> {
  if (format === 'ndjson') return new NdjsonInput(name, source);
  const { CsvInput } = await import('./csv.js');
  return new CsvInput(name, source, resource.columns);
}

/** Sends batches, several at a time, and counts what becomes of their records. */
class Import {
  refused = 0;
  private created = 0;
  private unchanged = 0;
  private printed = 0;
  /** The first failure ends the import. */
  private failure: unknown;
  private readonly refusedFiles: string[] = [];
  private readonly retries: Retries;
  private readonly stop = new AbortController();
  /** Aborted when the import cannot go on. */
  readonly signal: AbortSignal;

  constructor(
    private readonly resource: string,
    private readonly connection: Connection,
    private readonly concurrency: number,
    private readonly progress: Progress,
    signal: AbortSignal,
    limits: Limits,
  ) {
    this.signal = AbortSignal.any([signal, this.stop.signal]);
    this.retries = new Retries(this.signal, (message) => progress.print(message), limits);
  }

  async add(name: string, input: Input, refusedFile: RefusedFile): Promise<void> {
    const sending: Promise<readonly Refusal[]>[] = [];
    // The oldest first, so that refused records stay in their order.
    const settle = async () => {
      const refusals = await sending.shift()!;
      this.print(name, refusals);
      const sources = refusals.map(({ record }) => record.source);
      await refusedFile.append(input.header, sources).catch((error: unknown) => this.fail(error));
    };
    try {
      for await (const batch of batchesOf(input.records())) {
        if (sending.length === this.concurrency) await settle();
        if (this.failure !== undefined) break;
        sending.push(this.send(batch));
      }
    } catch (error) {
      // The rest of the input cannot be read. The requests go on.
      this.failure ??= error;
    }
    while (sending.length > 0) await settle();
    if (refusedFile.name !== undefined) this.refusedFiles.push(refusedFile.name);
    if (this.failure !== undefined) throw this.failure as Error;
  }

  report({ stdout }: Terminal): void {
    const { seconds, speed } = this.progress;
    stdout.write(
      `created ${this.created}, unchanged ${this.unchanged}, refused ${this.refused} in ${seconds.toFixed(1)} s (${speed})\n`,
    );
    if (this.refused > PRINTED) this.progress.print(`${this.refused - PRINTED} more are refused`);
    for (const file of this.refusedFiles) {
      this.progress.print(`The refused records are in ${file}: mend them, then import this file.`);
    }
    if (this.retries.failures > 0) {
      this.progress.print(
        'Requests were repeated. What a request stored before it failed counts as unchanged.',
      );
    }
  }

  /** Ends all requests. */
  private fail(error: unknown): void {
    this.failure ??= error;
    this.stop.abort();
  }

  /** Never rejects. A failure ends the other requests, too. */
  private async send(batch: Batch): Promise<readonly Refusal[]> {
    const sent = batch.filter((record) => 'json' in record);
    try {
      const { created, unchanged, refusals } = await this.post(sent);
      for (const record of batch) {
        if ('fault' in record) refusals.push({ record, reason: record.fault });
      }
      this.created += created;
      this.unchanged += unchanged;
      this.refused += refusals.length;
      this.progress.rows += batch.length;
      this.progress.bytes += batch.reduce((sum, { source }) => sum + source.length, 0);
      return refusals.toSorted((a, b) => a.record.line - b.record.line);
    } catch (error) {
      this.fail(error);
      return [];
    }
  }

  private async post(records: readonly Sendable[]): Promise<Answer> {
    if (records.length === 0) return { created: 0, unchanged: 0, refusals: [] };
    const body = Buffer.concat(records.flatMap(({ json }) => [json, NEWLINE]));
    try {
      return await this.retries.run(async () => {
        const { signal } = this;
        const path = `/${this.resource}/import`;
        const response = await open(this.connection, { method: 'POST', path, body, signal });
        return parseAnswer(await readText(response), records);
      });
    } catch (error) {
      // A proxy accepts shorter bodies than the service.
      if (!(error instanceof RequestRefused && error.status === 413)) throw error;
      if (records.length > 1) return this.postHalves(records);
      const refusals = records.map((record) => ({ record, reason: error.message }));
      return { created: 0, unchanged: 0, refusals };
    }
  }

  private async postHalves(records: readonly Sendable[]): Promise<Answer> {
    const half = Math.ceil(records.length / 2);
    const first = await this.post(records.slice(0, half));
    const second = await this.post(records.slice(half));
    return {
      created: first.created + second.created,
      unchanged: first.unchanged + second.unchanged,
      refusals: [...first.refusals, ...second.refusals],
    };
  }

  private print(name: string, refusals: readonly Refusal[]): void {
    for (const { record, reason } of refusals) {
      this.printed += 1;
      if (this.printed <= PRINTED) this.progress.print(`${name}:${record.line}: ${reason}`);
    }
  }
}

/** @throws TemporaryFailure if the answer does not end with a summary */
function parseAnswer(text: string, records: readonly InputRecord[]): Answer {
  const refusals: Refusal[] = [];
  // What follows the last line end is part of a line.
  for (const json of text.split('\n').slice(0, -1)) {
    const answer = JSON.parse(json) as AnswerLine;
    if ('created' in answer) return { ...answer, refusals };
    const reason = `${answer.error} ${answer.message}`;
    if (answer.line === undefined) throw new TemporaryFailure(reason);
    refusals.push({ record: records[answer.line - 1]!, reason });
  }
  throw new TemporaryFailure('the answer ended before the summary');
}
