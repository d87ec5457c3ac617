import { ServiceError } from './service-error.js';
import type { ErrorCode } from './service-error.js';
import { chunksOf } from './lines.js';

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
export interface Rejection {
  /** The position of the record. The first record of an import has 1. */
  readonly line: number;
  /** The error number, such as `ERRORS.idTaken`. */
  readonly code: ErrorCode;
  readonly message: string;
}

export interface RefusedRecord<New> extends Rejection {
  readonly record: New;
}

/** A line of the response. An error without a line ends an import that cannot go on. */
type ImportLine =
  { readonly line?: number; readonly error: number; readonly message: string } | ImportSummary;

export type SendLines = (
  body: string,
  read: (lines: AsyncIterable<readonly string[]>, response: Response) => Promise<ImportSummary>,
) => Promise<ImportSummary>;

/**
 * Maximum number of bytes in a request, half of what nginx accepts by default, unless a single record has more. Browsers cannot stream the body of a request over HTTP/1.1,
 * and proxies often reject bodies above 1 MB.
 */
const MAX_BYTES = 512 * 1024;

/**
 * Maximum number of records in a request. The service responds while it reads, but over HTTP/1.1 browsers read only after they have sent
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
    const items = encoded(records, lineOf);
    for await (const batch of batchesOf(items, MAX_RECORDS, ({ size }) => size)) {
      let refused: Rejection[] = [];
      const sending = send(batch.map(({ line }) => line).join(''), async (lines, response) => {
        refused = [];
        const summary = await readImport(lines, response, refused);
        // A proxy that speaks HTTP/1.0 to the service takes a broken connection for the end of the response. Otherwise, `fetch`
        // would throw such an error.
        if (!summary) throw new TypeError('the response to the import has no summary');
        return summary;
      });
      await Promise.allSettled([sending]);
      for (const { line, ...rejection } of refused) {
        yield { ...rejection, line: sent + line, record: batch[line - 1]!.record };
      }
      // Here an error ends the import, after the records that were refused before.
      const summary = await sending;
      this.#total.created += summary.created;
      this.#total.unchanged += summary.unchanged;
      this.#total.refused += summary.refused;
      sent += batch.length;
    }
    this.#isComplete = true;
  }
}

/**
 * Reads the response to one request. If it is cut off, there is no summary.
 *
 * @throws ServiceError if the service could not go on
 */
export async function readImport(
  parts: AsyncIterable<readonly string[]>,
  response: Response,
  refused: Rejection[],
): Promise<ImportSummary | undefined> {
  let summary: ImportSummary | undefined;
  for await (const lines of parts) {
    for (const text of lines.filter((line) => line !== '')) {
      const part = JSON.parse(text) as ImportLine;
      if (!('error' in part)) summary = part;
      else if (part.line === undefined) throw new ServiceError(response, part);
      else refused.push({ line: part.line, code: part.error, message: part.message });
    }
  }
  return summary;
}

async function* encoded<New>(records: Records<New>, lineOf: (record: New) => string) {
  const encoder = new TextEncoder();
  for await (const record of 'getReader' in records ? chunksOf(records) : records) {
    const line = `${lineOf(record)}\n`;
    yield { record, line, size: encoder.encode(line).length };
  }
}

/** Cuts what is imported into requests. A record that is longer than a request should be goes alone. */
export async function* batchesOf<Item>(
  items: AsyncIterable<Item>,
  maxRecords: number,
  sizeOf: (item: Item) => number,
): AsyncGenerator<readonly Item[], void> {
  let batch: Item[] = [];
  let bytes = 0;
  for await (const item of items) {
    const size = sizeOf(item);
    if (batch.length === maxRecords || (batch.length > 0 && bytes + size > MAX_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
