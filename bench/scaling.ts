import assert from 'node:assert/strict';
import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { bestLoadGenerator } from './load.js';
import { ProcessorShare } from './processor-share.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run bench:scaling: what several replicas do on one PostgreSQL, each with a share of the processors of
   its own as in a cluster, and whether the formula of docs/scaling.md tells it from one replica. */

const ROUNDS = 5;
const SECONDS = 4;
const REPLICAS = [1, 2, 4];

/** Processors of each replica and of PostgreSQL. Few, so that enough are left for the load. */
const SHARES = { replica: 0.3, database: 0.1 };

/** To each replica. */
const CONNECTIONS = [64, 256];

/** The result of several replicas together. */
interface Sample {
  readonly connections: number;
  readonly replicas: number;
  readonly requestsPerSecond: number;
  /** Processor time of all replicas for one request, in microseconds. */
  readonly service: number;
  /** Processor time of PostgreSQL for a request, in microseconds. */
  readonly database: number;
  /** Plants in a group. */
  readonly group: number;
  readonly p50: number;
}

const generator = await bestLoadGenerator();
const databases = await Databases.start();
const shares: ProcessorShare[] = [];
const running: Running[] = [];
try {
  process.stdout.write(`${report(await measure())}\n`);
} finally {
  await Promise.all(running.map((replica) => replica.stop()));
  await databases.stop();
  for (const share of shares) await share.remove();
}

async function measure(): Promise<Sample[]> {
  const database = await databases.create('scaling');
  const databaseShare = await shareFor('database', SHARES.database, databases.pid);
  for (let n = 1; n <= Math.max(...REPLICAS); n += 1) {
    const replica = await Running.start(PLANT_STORE, database.url, databases.folder);
    running.push(replica);
    await shareFor(`replica-${n}`, SHARES.replica, replica.pid);
  }
  const loads = CONNECTIONS.flatMap((connections) =>
    REPLICAS.map((replicas) => ({ connections, replicas })),
  );
  const progress = new Progress((ROUNDS + 1) * loads.length);
  const samples: Sample[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const load of loads) {
      await database.clear();
      const sample = { ...load, ...(await measureOnce(load, databaseShare)) };
      const { rows, asSent } = await database.stored();
      assert(asSent && rows >= sample.requestsPerSecond * SECONDS, 'answers and rows differ');
      // The first round warms up.
      if (round > 0) samples.push(sample);
      progress.step(`${load.replicas} replicas · ${Math.round(sample.requestsPerSecond)} req/s`);
    }
  }
  progress.end();
  return samples;
}

async function measureOnce(
  { connections, replicas }: Pick<Sample, 'connections' | 'replicas'>,
  database: ProcessorShare,
) {
  const loaded = running.slice(0, replicas);
  const before = await totals(loaded, database);
  const results = await Promise.all(
    loaded.map(({ url }, i) =>
      generator.run({ url, connections, seconds: SECONDS, first: i * 500_000 }),
    ),
  );
  const after = await totals(loaded, database);
  const used = {
    service: after.service - before.service,
    database: after.database - before.database,
  };
  requireShare(used.database, SHARES.database);
  requireShare(used.service, replicas * SHARES.replica);
  const created = sum(results.map((result) => result.succeeded));
  return {
    requestsPerSecond: created / SECONDS,
    service: used.service / created,
    database: used.database / created,
    group: (after.rows - before.rows) / (after.groups - before.groups),
    p50: median(results.map(({ latency }) => latency[0] ?? NaN)),
  };
}

/** @param used processor time in microseconds, plus a tenth for the time before and after the load */
function requireShare(used: number, processors: number): void {
  assert(used <= 1.1 * processors * SECONDS * 1e6, 'more processors were used than were given');
}

async function shareFor(name: string, processors: number, pid: number): Promise<ProcessorShare> {
  const share = await ProcessorShare.create(name, processors);
  shares.push(share);
  await share.adopt(pid);
  return share;
}

async function totals(replicas: readonly Running[], database: ProcessorShare) {
  const usages = await Promise.all(replicas.map((replica) => replica.usage()));
  const metrics = await Promise.all(replicas.map((replica) => replica.metrics()));
  const total = (name: string) =>
    sum(metrics.map((text) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])));
  return {
    service: sum(usages.map(({ cpu }) => cpu)),
    database: await database.used(),
    rows: total('plant_store_creation_group_rows_sum'),
    groups: total('plant_store_creation_group_rows_count'),
  };
}

/** Medians, beside the predictions of the formula from a single replica. */
function report(samples: readonly Sample[]): string {
  const of = (connections: number, replicas: number, value: (sample: Sample) => number) =>
    median(
      samples
        .filter((sample) => sample.connections === connections && sample.replicas === replicas)
        .map(value),
    );
  // The costs of a plant and of a group for PostgreSQL, from two group sizes.
  const [few, many] = [Math.min(...CONNECTIONS), Math.max(...CONNECTIONS)].map((connections) => ({
    cost: of(connections, 1, (sample) => sample.database),
    group: of(connections, 1, (sample) => sample.group),
  }));
  assert(few !== undefined && many !== undefined);
  const group = (few.cost - many.cost) / (1 / few.group - 1 / many.group);
  const row = many.cost - group / many.group;
  const capacity = (connections: number, replicas: number) =>
    Math.min(
      (replicas * SHARES.replica * 1e6) / of(connections, 1, (sample) => sample.service),
      // Two groups run at a time, and share the clients.
      (SHARES.database * 1e6) / (row + group / (connections / 2)),
    );
  const figures = table(
    ['connections each', 'replicas', 'req/s', 'foretold', 's', 'd', 'plants a group', 'p50 ms'],
    CONNECTIONS.flatMap((connections) =>
      REPLICAS.map((replicas) => [
        String(connections),
        String(replicas),
        of(connections, replicas, (sample) => sample.requestsPerSecond).toFixed(0),
        capacity(connections, replicas).toFixed(0),
        of(connections, replicas, (sample) => sample.service).toFixed(0),
        of(connections, replicas, (sample) => sample.database).toFixed(0),
        of(connections, replicas, (sample) => sample.group).toFixed(0),
        of(connections, replicas, (sample) => sample.p50).toFixed(0),
      ]),
    ),
  );
  return `${figures}\n\nd = ${row.toFixed(1)} + ${group.toFixed(0)} / plants of a group`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
