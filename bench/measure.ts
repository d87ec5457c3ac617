import assert from 'node:assert/strict';
import type { BenchDatabase } from './databases.js';
import type { Running } from './contender.js';
import type { LoadGenerator } from './load.js';

/** The result of a contender under a load. */
export interface Measurement {
  /** Creates that were answered with 200. */
  readonly requestsPerSecond: number;
  /** Milliseconds, of the `PERCENTILES`. */
  readonly latency: readonly number[];
  /** Processor time of the process for one request, in microseconds. */
  readonly cpuPerRequest: number;
  /** Resident memory of the process at the end, in bytes. */
  readonly memory: number;
  readonly errors: number;
}

/**
 * Loads a contender whose table is empty.
 *
 * @throws AssertionError when what is stored is not what was answered
 */
export async function measure(
  running: Running,
  database: BenchDatabase,
  generator: LoadGenerator,
  load: { readonly connections: number; readonly seconds: number },
): Promise<Measurement> {
  await database.clear();
  const before = await running.usage();
  const measured = await generator.run({ url: running.url, first: 0, ...load });
  const after = await running.usage();
  await requireRows(running, database, measured.created, load.connections + measured.errors);
  return {
    requestsPerSecond: measured.created / measured.seconds,
    latency: measured.latency,
    cpuPerRequest: (after.cpu - before.cpu) / measured.created,
    memory: after.memory,
    errors: measured.errors,
  };
}

/** @param unanswered how many stored creates may lack an answer */
async function requireRows(
  running: Running,
  database: BenchDatabase,
  created: number,
  unanswered: number,
): Promise<void> {
  const { rows, asSent } = await database.stored();
  const { name } = running.contender;
  assert(created > 0, `${name} created nothing`);
  assert(asSent, `${name} stored something else than was sent`);
  assert(
    rows >= created && rows <= created + unanswered,
    `${name} answered ${created} creates, but stored ${rows}`,
  );
}
