import type { InputRecord } from './records.js';

/** Half of what nginx accepts by default. */
const MAX_BYTES = 512 * 1024;

const MAX_RECORDS = 2_000;

/** The records of one request, and the records between them that cannot be sent. */
export type Batch = readonly InputRecord[];

/** Cuts the records of an input. A record that is longer than a body should be goes alone. */
export async function* batchesOf(records: AsyncIterable<InputRecord>): AsyncGenerator<Batch> {
  let batch: InputRecord[] = [];
  let bytes = 0;
  let failure: unknown;
  try {
    for await (const record of records) {
      const length = 'json' in record ? record.json.length + 1 : record.source.length;
      if (batch.length === MAX_RECORDS || (batch.length > 0 && bytes + length > MAX_BYTES)) {
        yield batch;
        batch = [];
        bytes = 0;
      }
      batch.push(record);
      bytes += length;
    }
  } catch (error) {
    failure = error;
  }
  // Also when the rest of the file cannot be read.
  if (batch.length > 0) yield batch;
  if (failure !== undefined) throw failure as Error;
}
