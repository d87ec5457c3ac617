import type { Contender } from './contender.js';
import { EXPRESS, FASTIFY, LIMIT, NEST_TUTORIAL, PLANT_STORE } from './contender.js';
import { PERCENTILES } from './load.js';
import type { Measurement } from './measure.js';

export interface Sample extends Measurement {
  readonly contender: string;
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
    .map(({ contender, connections }) =>
      summarizeGroup(
        samples.filter(
          (sample) => sample.contender === contender && sample.connections === connections,
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
    connections: first.connections,
    requestsPerSecond: of((sample) => sample.requestsPerSecond),
    latency: PERCENTILES.map((_, i) => of((sample) => sample.latency[i] ?? NaN)),
    cpuPerRequest: of((sample) => sample.cpuPerRequest),
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

/** The medians and the ratios, as Markdown. */
export function report(results: Results): string {
  const { date, machine, node, postgres, loadGenerator, rounds, secondsPerRound } = results;
  return [
    `${date}, ${machine}, Node.js ${node}, PostgreSQL ${postgres}, ${loadGenerator}, medians of ${rounds} rounds of ${secondsPerRound} s`,
    table(
      ['', 'connections', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'memory MB', 'errors'],
      results.contenders.flatMap(({ name, title }) =>
        results.medians
          .filter(({ contender }) => contender === name)
          .map((row) => [
            title,
            String(row.connections),
            row.requestsPerSecond.toFixed(0),
            (row.latency[0] ?? NaN).toFixed(2),
            (row.latency[3] ?? NaN).toFixed(2),
            row.cpuPerRequest.toFixed(0),
            (row.memory / 1e6).toFixed(0),
            String(row.errors),
          ]),
      ),
    ),
    table(
      ['Plant Store against', 'measured', 'wanted'],
      ratios(results).map(({ what, ratio, wanted }) => [what, `${ratio.toFixed(2)} ×`, wanted]),
    ),
  ].join('\n\n');
}

interface Ratio {
  readonly what: string;
  readonly ratio: number;
  readonly wanted: string;
}

/** The comparison of the service: the median of the ratios of each round. */
function ratios({ samples }: Results): Ratio[] {
  const perRound = (
    connections: number,
    other: Contender,
    ratio: (own: Sample, others: Sample) => number,
  ): number =>
    median(
      samples
        .filter((own) => own.contender === PLANT_STORE.name && own.connections === connections)
        .flatMap((own) =>
          samples
            .filter(
              (sample) =>
                sample.contender === other.name &&
                sample.connections === connections &&
                sample.round === own.round,
            )
            .map((others) => ratio(own, others)),
        ),
    );
  const throughput = (own: Sample, others: Sample) =>
    own.requestsPerSecond / others.requestsPerSecond;
  const p50 = ({ latency }: Sample) => latency[0] ?? NaN;
  const p99 = ({ latency }: Sample) => latency[3] ?? NaN;
  return [
    { contender: EXPRESS, wanted: '≥ 2.5' },
    { contender: FASTIFY, wanted: '≥ 1.3' },
    { contender: NEST_TUTORIAL, wanted: '≥ 6' },
    { contender: LIMIT, wanted: '≥ 0.42' },
  ]
    .map(({ contender, wanted }) => ({
      what: `req/s of ${contender.title}, 64 connections`,
      ratio: perRound(64, contender, throughput),
      wanted,
    }))
    .concat([
      {
        what: `p50 of ${EXPRESS.title}, 1 connection`,
        ratio: perRound(1, EXPRESS, (own, others) => p50(own) / p50(others)),
        wanted: '≤ 1',
      },
      {
        what: `p99 against p50 of ${EXPRESS.title}, 64 connections`,
        ratio: perRound(64, EXPRESS, (own, others) => p99(own) / p50(others)),
        wanted: '≤ 1',
      },
    ])
    .filter(({ ratio }) => !Number.isNaN(ratio));
}

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
