import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import autocannon from 'autocannon';
import { PROJECT, STATIC_TOKEN } from './contender.js';

/** Percentiles of the latency that are measured. */
export const PERCENTILES = [50, 75, 90, 99, 99.9] as const;

/** What the requests do: `POST /plants`, and GET with a target in which `%.0f` stands for the id of a stored plant. */
const TARGETS = {
  create: undefined,
  'look-up': '/plants/%.0f',
  'page-20': '/plants?limit=20&after=%.0f',
  'page-49': '/plants?limit=49&after=%.0f',
  'page-50': '/plants?limit=50&after=%.0f',
  'tag-20': '/plants?limit=20&tag=indoor&after=%.0f',
  'tag-50': '/plants?limit=50&tag=indoor&after=%.0f',
  // Finds a single plant, because the name of a plant ends with its id.
  search: '/plants?name=Plant%%20%.0f',
} as const;
export type Operation = keyof typeof TARGETS;
export const OPERATIONS = Object.keys(TARGETS) as Operation[];

/** The target of a request other than a create. */
export function targetOf(operation: Operation, id: number): string {
  return (TARGETS[operation] ?? '').replace('%.0f', String(id)).replace('%%', '%');
}

export interface Task {
  readonly url: string;
  /** Used in turn. */
  readonly tokens?: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  readonly operation?: Operation;
  /** Number of the first plant, for creates in a table that already has plants. */
  readonly first: number;
}

/** Look-ups, pages and searches take turns with the ids of so many plants, the first ones. */
export const STORED_PLANTS = 100_000;

export interface Measured {
  /** With status 200. */
  readonly succeeded: number;
  /** Other answers, broken connections, and timeouts (two seconds). */
  readonly errors: number;
  readonly seconds: number;
  /** Milliseconds, of the {@link PERCENTILES}. */
  readonly latency: readonly number[];
}

/** A load generator that sends requests as fast as they are answered. */
export interface LoadGenerator {
  readonly name: string;
  run(task: Task): Promise<Measured>;
}

export interface NumberedPlant {
  readonly id: number;
  readonly name: string;
  readonly tag: string;
}

/**
 * The plant with a number. The ids are odd and scattered over 41 bits, so that the even ones are free
 * for what is stored before. The numbers end at 3,000,000: all products stay below 2^53.
 */
export function plantOf(number: number): NumberedPlant {
  const scattered = (number * 2_654_435_761) % 2 ** 26;
  // The product permutes the numbers below 2^40 (as in the cipher RC6), and follows no order that an index could use.
  const id = ((scattered * (2 * scattered + 1)) % 2 ** 40) * 2 + 1;
  return { id, name: `Plant ${id}`, tag: 'indoor' };
}

const execute = promisify(execFile);

/** wrk, which needs a tenth of autocannon's processor time. */
export const WRK: LoadGenerator = {
  name: 'wrk',
  async run({
    url,
    tokens = STATIC_TOKEN.tokens,
    connections,
    seconds,
    operation = 'create',
    first,
  }) {
    const { stdout } = await execute('wrk', [
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${seconds}s`,
      '--timeout=2s',
      `--script=${PROJECT}bench/plants.lua`,
      url,
      '--',
      String(operation === 'create' ? first : STORED_PLANTS),
      TARGETS[operation] ?? 'create',
      ...tokens,
    ]);
    const result = JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? '') as WrkResult;
    return {
      succeeded: result.answers - result.refused,
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
  async run({
    url,
    tokens = STATIC_TOKEN.tokens,
    connections,
    seconds,
    operation = 'create',
    first,
  }) {
    let sent = 0;
    const result = await autocannon({
      url,
      connections,
      duration: seconds,
      timeout: 2,
      requests: [
        {
          setupRequest: (request) => {
            const number = sent++;
            const authorization = `Bearer ${tokens[number % tokens.length]}`;
            return operation === 'create'
              ? {
                  ...request,
                  method: 'POST',
                  path: '/plants',
                  headers: { authorization, 'content-type': 'application/json' },
                  body: JSON.stringify(plantOf(first + number)),
                }
              : {
                  ...request,
                  path: targetOf(operation, plantOf(number % STORED_PLANTS).id),
                  headers: { authorization },
                };
          },
        },
      ],
    });
    const { p50, p75, p90, p99, p99_9 } = result.latency;
    return {
      succeeded: result['2xx'],
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
