import { ServiceError } from './service-error.js';
import type { ErrorCode } from './service-error.js';
import { chunksOf } from './streams.js';

/** Records to import. A stream is closed at the end. */
export type Records<New> = Iterable<New> | AsyncIterable<New> | ReadableStream<New>;

/** How many records of an import the service created and refused. */
export interface ImportSummary {
  readonly created: number;
  /** Records that were stored before, with the same content. */
  readonly unchanged: number;
  readonly refused: number;
}

/** Why the service refused a record. */
export interface Refusal {
  /** The position of the record. The first record of an import has 1. */
  readonly line: number;
  /** The error number, such as `ERRORS.idTaken`. */
  readonly code: ErrorCode;
  readonly message: string;
}

export interface RefusedRecord<New> extends Refusal {
  readonly record: New;
}

/** A line of the answer. A failure without a line ends an import that cannot go on. */
type ImportLine =
  { readonly line?: number; readonly error: number; readonly message: string } | ImportSummary;

/** Sends a body of newline-delimited JSON, and reads the answer of each attempt. */
export type SendLines = (
  body: string,
  read: (lines: AsyncIterable<string>, response: Response) => Promise<void>,
) => Promise<void>;

/**
 * Most bytes of a request, unless a single record has more. Browsers cannot stream the body of a request over HTTP/1.1,
 * and proxies often refuse bodies above 1 MB.
 */
const MAX_BYTES = 512 * 1024;

/**
 * Most records of a request. The service answers while it reads, but over HTTP/1.1 browsers read only after they have sent
 * the whole request. Until then, the lines about refused records must fit into the buffers of the connection.
 */
const MAX_RECORDS = 1_000;

/**
 * An import, which runs while you iterate over the refused records or wait for the summary. When you leave the iteration
 * early, the import stops.
 */
export class ResourceImport<New> implements AsyncIterable<RefusedRecord<New>> {
  readonly #refused: AsyncGenerator<RefusedRecord<New>, void>;
  readonly #total = { created: 0, unchanged: 0, refused: 0 };
  #isComplete = false;

  /** @internal */
  constructor(records: Records<New>, lineOf: (record: New) => string, send: SendLines) {
    this.#refused = this.#run(records, lineOf, send);
  }

  [Symbol.asyncIterator](): AsyncGenerator<RefusedRecord<New>, void> {
    return this.#refused;
  }

  /** Runs the import to its end. Refused records that you have not read are only counted. */
  async summary(): Promise<ImportSummary> {
    let next: IteratorResult<RefusedRecord<New>, void>;
    do next = await this.#refused.next();
    while (next.done !== true);
    if (!this.#isComplete) throw new Error('the import was stopped before its end');
    return this.#total;
  }

  async *#run(
    records: Records<New>,
    lineOf: (record: New) => string,
    send: SendLines,
  ): AsyncGenerator<RefusedRecord<New>, void> {
    let sent = 0;
    for await (const batch of batchesOf(records, lineOf)) {
      let answer: ImportAnswer | undefined;
      const sending = send(batch.body, (lines, response) => {
        answer = new ImportAnswer();
        return answer.read(lines, response);
      });
      await Promise.allSettled([sending]);
      for (const { line, ...refusal } of answer?.refused ?? []) {
        yield { ...refusal, line: sent + line, record: batch.records[line - 1] as New };
      }
      // Here a failure ends the import, after the records that were refused before.
      await sending;
      const { created = 0, unchanged = 0, refused = 0 } = answer?.summary ?? {};
      this.#total.created += created;
      this.#total.unchanged += unchanged;
      this.#total.refused += refused;
      sent += batch.records.length;
    }
    this.#isComplete = true;
  }
}

/** The answer to one request. */
class ImportAnswer {
  readonly refused: Refusal[] = [];
  summary: ImportSummary | undefined;

  /** @throws if the service could not go on */
  async read(lines: AsyncIterable<string>, response: Response): Promise<void> {
    for await (const text of lines) {
      if (text === '') continue;
      const part = JSON.parse(text) as ImportLine;
      if (!('error' in part)) {
        this.summary = part;
      } else if (part.line === undefined) {
        throw new ServiceError(response, part);
      } else {
        this.refused.push({ line: part.line, code: part.error, message: part.message });
      }
    }
    // A proxy that speaks HTTP/1.0 to the service takes a broken connection for the end of the answer. Otherwise, `fetch`
    // would throw such an error.
    if (this.summary === undefined) throw new TypeError('the answer to the import has no summary');
  }
}

interface Batch<New> {
  readonly records: readonly New[];
  /** A line of JSON for each record. */
  readonly body: string;
}

async function* batchesOf<New>(
  records: Records<New>,
  lineOf: (record: New) => string,
): AsyncGenerator<Batch<New>, void> {
  const encoder = new TextEncoder();
  let batch: New[] = [];
  let body = '';
  let bytes = 0;
  for await (const record of 'getReader' in records ? chunksOf(records) : records) {
    const line = `${lineOf(record)}\n`;
    const size = encoder.encode(line).length;
    const isFull = batch.length === MAX_RECORDS || bytes + size > MAX_BYTES;
    if (isFull && batch.length > 0) {
      yield { records: batch, body };
      batch = [];
      body = '';
      bytes = 0;
    }
    batch.push(record);
    body += line;
    bytes += size;
  }
  if (batch.length > 0) yield { records: batch, body };
}
