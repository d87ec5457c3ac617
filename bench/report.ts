import type { Contender } from './contender.js';
import {
  EXPRESS,
  FASTIFY,
  LIMIT,
  NEST_TUTORIAL,
  PLANT_STORE,
  PLANT_STORE_NO_CHANGES,
  PLANT_STORE_ES256,
  PLANT_STORE_RS256,
  PLANT_STORE_TOKENS,
} from './contender.js';
import { OPERATIONS, PERCENTILES } from './load.js';
import type { Operation } from './load.js';
import type { Measurement } from './measure.js';

export interface Sample extends Measurement {
  readonly contender: string;
  readonly operation: Operation;
  readonly connections: number;
  readonly round: number;
}

/** Medians of all rounds, and the sum of the errors. */
export type Median = Omit<Sample, 'round'>;

export interface Results {
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly postgres: string;
  readonly loadGenerator: string;
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly contenders: readonly Pick<Contender, 'name' | 'title'>[];
  readonly medians: readonly Median[];
  readonly samples: readonly Sample[];
}

export function summarize(samples: readonly Sample[]): Median[] {
  return samples
    .filter(({ round }) => round === 1)
    .map(({ contender, operation, connections }) =>
      summarizeGroup(
        samples.filter(
          (sample) =>
            sample.contender === contender &&
            sample.operation === operation &&
            sample.connections === connections,
        ),
      ),
    );
}

function summarizeGroup(group: readonly Sample[]): Median {
  const [first] = group;
  if (first === undefined) throw new RangeError('a group has samples');
  const of = (value: (sample: Sample) => number) => median(group.map(value));
  return {
    contender: first.contender,
    operation: first.operation,
    connections: first.connections,
    requestsPerSecond: of((sample) => sample.requestsPerSecond),
    latency: PERCENTILES.map((_, i) => of((sample) => sample.latency[i] ?? NaN)),
    cpuPerRequest: of((sample) => sample.cpuPerRequest),
    instructionsPerRequest:
      first.instructionsPerRequest && of((sample) => sample.instructionsPerRequest ?? NaN),
    memory: of((sample) => sample.memory),
    errors: group.reduce((sum, { errors }) => sum + errors, 0),
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

export const HEADINGS: Readonly<Record<Operation, string>> = {
  create: 'Creates',
  'look-up': 'Look-ups',
  'page-20': 'Pages of 20',
  'page-49': 'Pages of 49',
  'page-50': 'Pages of 50',
  'tag-20': 'Pages of 20 with a tag',
  'tag-50': 'Pages of 50 with a tag',
  search: 'Searches for a name',
};

/** The medians and the ratios, as Markdown. */
export function report(results: Results): string {
  const { date, machine, node, postgres, loadGenerator, rounds, secondsPerRound } = results;
  return [
    `${date}, ${machine}, Node.js ${node}, PostgreSQL ${postgres}, ${loadGenerator}, medians of ${rounds} rounds of ${secondsPerRound} s`,
    ...OPERATIONS.filter((operation) =>
      results.medians.some((row) => row.operation === operation),
    ).map((operation) => mediansTable(results, operation)),
    table(
      ['', 'measured', 'wanted'],
      ratios(results).map(({ what, ratio, wanted }) => [what, `${ratio.toFixed(2)} ×`, wanted]),
    ),
  ].join('\n\n');
}

function mediansTable({ contenders, medians }: Results, operation: Operation): string {
  const isCounted = medians.some((row) => row.instructionsPerRequest !== undefined);
  return table(
    [
      HEADINGS[operation],
      'connections',
      'req/s',
      'p50 ms',
      'p99 ms',
      'CPU µs/req',
      ...(isCounted ? ['instructions/req'] : []),
      'memory MB',
      'errors',
    ],
    contenders.flatMap(({ name, title }) =>
      medians
        .filter((row) => row.contender === name && row.operation === operation)
        .map((row) => cellsOf(title, row, isCounted)),
    ),
  );
}

function cellsOf(title: string, row: Median, isCounted: boolean): string[] {
  return [
    title,
    String(row.connections),
    row.requestsPerSecond.toFixed(0),
    (row.latency[0] ?? NaN).toFixed(2),
    (row.latency[3] ?? NaN).toFixed(2),
    row.cpuPerRequest.toFixed(0),
    ...(isCounted ? [(row.instructionsPerRequest ?? NaN).toFixed(0)] : []),
    (row.memory / 1e6).toFixed(0),
    String(row.errors),
  ];
}

interface Ratio {
  readonly what: string;
  readonly ratio: number;
  readonly wanted: string;
}

/** A comparison of two contenders, given by their names. */
interface Comparison {
  readonly operation: Operation;
  readonly own?: string;
  readonly other: string;
  readonly connections?: number;
  readonly what: string;
  readonly ratio: (own: Sample, other: Sample) => number;
  readonly wanted: string;
}

const p50 = ({ latency }: Sample) => latency[0] ?? NaN;
const p99 = ({ latency }: Sample) => latency[3] ?? NaN;
const ofRates = (own: Sample, other: Sample) => own.requestsPerSecond / other.requestsPerSecond;
const ofP50 = (own: Sample, other: Sample) => p50(own) / p50(other);
const ofP99 = (own: Sample, other: Sample) => p99(own) / p99(other);
const ofCpu = (own: Sample, other: Sample) => own.cpuPerRequest / other.cpuPerRequest;

const creates = { operation: 'create', what: 'creates per second', ratio: ofRates } as const;
const lookUps = { operation: 'look-up', what: 'look-ups per second', ratio: ofRates } as const;
const latency = { operation: 'create', what: 'p50 of creates', ratio: ofP50 } as const;
const cpu = { operation: 'create', what: 'processor time of creates', ratio: ofCpu } as const;

/** Of pages of each size, with and without a filter. */
const PAGES: readonly Comparison[] = (
  ['page-20', 'page-49', 'page-50', 'tag-20', 'tag-50'] as const
).flatMap((operation) => {
  const what = HEADINGS[operation].toLowerCase();
  const rates = { operation, what: `${what}, per second`, ratio: ofRates };
  return [
    { ...rates, other: EXPRESS.name, wanted: '' },
    { ...rates, other: FASTIFY.name, wanted: '≥ 1.05' },
    { ...rates, other: 'go', wanted: '' },
    { ...rates, other: 'rust', wanted: '' },
    {
      operation,
      what: `p50 of ${what}`,
      ratio: ofP50,
      other: EXPRESS.name,
      connections: 1,
      wanted: '≤ 1.15',
    },
  ];
});

const COMPARISONS: readonly Comparison[] = [
  { ...latency, other: EXPRESS.name, connections: 1, wanted: '≤ 1.3; Node.js 20: ≤ 1.15' },
  { ...latency, other: EXPRESS.name, connections: 4, wanted: '≤ 1.1' },
  { ...cpu, other: EXPRESS.name, connections: 1, wanted: '≤ 1.3' },
  { ...cpu, other: FASTIFY.name, wanted: '≤ 1' },
  { ...creates, other: FASTIFY.name, connections: 16, wanted: '≥ 1.1' },
  { ...creates, other: EXPRESS.name, wanted: '≥ 1.6; Node.js 20: ≥ 2.6' },
  { ...creates, other: FASTIFY.name, wanted: '≥ 1.4; Node.js 20: ≥ 1.5' },
  { ...creates, other: NEST_TUTORIAL.name, wanted: '≥ 6' },
  { ...creates, other: LIMIT.name, wanted: '≥ 0.45; Node.js 20: ≥ 0.5' },
  {
    operation: 'create',
    what: 'p99 of creates',
    ratio: ofP99,
    other: FASTIFY.name,
    wanted: '≤ 1.2',
  },
  {
    operation: 'create',
    what: 'p99 of creates, against p50',
    ratio: (own, other) => p99(own) / p50(other),
    other: EXPRESS.name,
    wanted: '≤ 1',
  },
  { ...creates, other: PLANT_STORE_NO_CHANGES.name, wanted: '≥ 0.9' },
  { ...lookUps, other: PLANT_STORE_NO_CHANGES.name, wanted: '≥ 0.97' },
  { ...creates, own: PLANT_STORE_TOKENS.name, other: PLANT_STORE.name, wanted: '≥ 0.95' },
  { ...creates, own: PLANT_STORE_RS256.name, other: PLANT_STORE.name, wanted: '≥ 0.95' },
  { ...creates, own: PLANT_STORE_ES256.name, other: PLANT_STORE.name, wanted: '≥ 0.95' },
  { ...creates, other: 'go', wanted: '' },
  { ...creates, other: 'rust', wanted: '' },
  { ...lookUps, other: EXPRESS.name, wanted: '≥ 1.5; Node.js 20: ≥ 3' },
  { ...lookUps, other: FASTIFY.name, wanted: '≥ 1.3' },
  { ...lookUps, other: 'go', wanted: '' },
  { ...lookUps, other: 'rust', wanted: '' },
  ...PAGES,
];

/** The comparisons of what was measured: medians of the ratios of the rounds. */
function ratios({ contenders, samples }: Results): Ratio[] {
  const titleOf = (name: string) => contenders.find((contender) => contender.name === name)?.title;
  return COMPARISONS.map(
    ({ operation, own = PLANT_STORE.name, other, connections = 64, what, ratio, wanted }) => {
      const of = (contender: string) =>
        samples.filter(
          (sample) =>
            sample.contender === contender &&
            sample.operation === operation &&
            sample.connections === connections,
        );
      const perRound = of(own).flatMap((sample) =>
        of(other)
          .filter(({ round }) => round === sample.round)
          .map((others) => ratio(sample, others)),
      );
      return {
        what: `${titleOf(own)} against ${titleOf(other)}: ${what}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
        ratio: median(perRound),
        wanted,
      };
    },
  ).filter(({ ratio }) => !Number.isNaN(ratio));
}

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
