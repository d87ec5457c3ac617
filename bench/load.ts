import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import autocannon from 'autocannon';
import { PROJECT, TOKEN } from './contender.js';

/** Percentiles of the latency that are measured. */
export const PERCENTILES = [50, 75, 90, 99, 99.9] as const;

export interface Task {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Number of the first plant, for a table that already has plants. */
  readonly first: number;
}

export interface Measured {
  /** With status 200. */
  readonly created: number;
  /** Other answers, broken connections, and timeouts (two seconds). */
  readonly errors: number;
  readonly seconds: number;
  /** Milliseconds, of the {@link PERCENTILES}. */
  readonly latency: readonly number[];
}

/** A load generator that sends plants to `POST /plants` as fast as they are answered. */
export interface LoadGenerator {
  readonly name: string;
  run(task: Task): Promise<Measured>;
}

/**
 * The plant with a number. The ids are odd and scattered over 41 bits, so that the even ones are free
 * for what is stored before. The numbers end at 3,000,000: all products stay below 2^53.
 */
export function plantOf(number: number) {
  const id = ((number * 2_654_435_761) % 2 ** 40) * 2 + 1;
  return { id, name: `Plant ${id}`, tag: 'indoor' };
}

const execute = promisify(execFile);

/** wrk, which needs a tenth of autocannon's processor time. */
export const WRK: LoadGenerator = {
  name: 'wrk',
  async run({ url, connections, seconds, first }) {
    const { stdout } = await execute('wrk', [
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${seconds}s`,
      '--timeout=2s',
      `--script=${PROJECT}bench/plants.lua`,
      `${url}/plants`,
      '--',
      TOKEN,
      String(first),
    ]);
    const result = JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? '') as WrkResult;
    return {
      created: result.answers - result.refused,
      errors: result.refused + result.broken,
      seconds: result.seconds,
      latency: result.latency,
    };
  },
};

/** What `plants.lua` prints. */
interface WrkResult {
  readonly answers: number;
  readonly refused: number;
  readonly broken: number;
  readonly seconds: number;
  readonly latency: readonly number[];
}

/** autocannon, in a separate thread. */
export const AUTOCANNON: LoadGenerator = {
  name: 'autocannon',
  async run({ url, connections, seconds, first }) {
    let number = first;
    const result = await autocannon({
      url: `${url}/plants`,
      connections,
      duration: seconds,
      timeout: 2,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      requests: [
        { setupRequest: (request) => ({ ...request, body: JSON.stringify(plantOf(number++)) }) },
      ],
    });
    const { p50, p75, p90, p99, p99_9 } = result.latency;
    return {
      created: result['2xx'],
      errors: result.non2xx + result.errors,
      seconds: result.duration,
      latency: [p50, p75, p90, p99, p99_9],
    };
  },
};

/** wrk if it is installed. */
export async function bestLoadGenerator(): Promise<LoadGenerator> {
  try {
    // It prints its version and exits with 1.
    await execute('wrk', ['--version']);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return AUTOCANNON;
  }
  return WRK;
}
