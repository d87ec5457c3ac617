import assert from 'node:assert/strict';
import type { BenchDatabase } from './databases.js';
import type { Running } from './contender.js';
import { countInstructions } from './instructions.js';
import { STORED_PLANTS } from './load.js';
import type { LoadGenerator, Operation } from './load.js';

/** The result of a contender under a load. */
export interface Measurement {
  /** Requests that were answered with 200. */
  readonly requestsPerSecond: number;
  /** Milliseconds, of the `PERCENTILES`. */
  readonly latency: readonly number[];
  /** Processor time of the process for one request, in microseconds. */
  readonly cpuPerRequest: number;
  /** In user space; `undefined` where they cannot be counted. */
  readonly instructionsPerRequest: number | undefined;
  /** Resident memory of the process at the end, in bytes. */
  readonly memory: number;
  readonly errors: number;
}

export interface Load {
  readonly operation: Operation;
  readonly connections: number;
  readonly seconds: number;
  /** Whether a load that does not count comes first. */
  readonly isWarmedUp: boolean;
}

/**
 * Loads a contender: with creates in an empty table, or with look-ups or pages of stored plants.
 *
 * @throws AssertionError when what is stored is not what was answered
 */
export async function measure(
  running: Running,
  database: BenchDatabase,
  generator: LoadGenerator,
  load: Load,
): Promise<Measurement> {
  const { url, tokens } = running;
  if (load.operation === 'create') await database.clear();
  else await database.hold(STORED_PLANTS);
  // While a contender waits for its turn, it closes its connections, and V8 drops code that it does not use.
  if (load.isWarmedUp) {
    const warmUp = { ...load, seconds: Math.ceil(load.seconds / 4) };
    await generator.run({ url, tokens, first: 0, ...warmUp });
    if (load.operation === 'create') {
      await database.settle();
      await database.clear();
    }
  }
  const instructionsUntilNow = countInstructions(running.pid);
  const before = await running.usage();
  const measured = await generator.run({ url, tokens, first: 0, ...load });
  const after = await running.usage();
  const instructions = await instructionsUntilNow();
  const { name } = running.contender;
  assert(measured.succeeded > 0, `${name} answered nothing`);
  if (load.operation === 'create') {
    await requireRows(name, database, measured.succeeded, load.connections + measured.errors);
  }
  return {
    requestsPerSecond: measured.succeeded / measured.seconds,
    latency: measured.latency,
    cpuPerRequest: (after.cpu - before.cpu) / measured.succeeded,
    instructionsPerRequest: instructions && instructions / measured.succeeded,
    memory: after.memory,
    errors: measured.errors,
  };
}

/** @param unanswered how many stored creates may lack an answer */
async function requireRows(
  name: string,
  database: BenchDatabase,
  created: number,
  unanswered: number,
): Promise<void> {
  const { rows, asSent } = await database.stored();
  assert(asSent, `${name} stored something else than was sent`);
  assert(
    rows >= created && rows <= created + unanswered,
    `${name} answered ${created} creates, but stored ${rows}`,
  );
}
