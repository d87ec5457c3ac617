import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { bestLoadGenerator } from './load.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run bench:growth: what becomes of the service when the table grows, when processes are added, and
   what it takes to start. */

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 64;
const TABLE_SIZES = [0, 1_000_000, 10_000_000];
const PROCESSES = [1, 2, 4];
const STARTS = 7;

const generator = await bestLoadGenerator();
const databases = await Databases.start();
const progress = new Progress(
  TABLE_SIZES.length * (ROUNDS + 1) + PROCESSES.length * (ROUNDS + 1) + STARTS,
);
try {
  const text = [await tableSizes(), await processes(), await starts()].join('\n\n');
  progress.end();
  process.stdout.write(`${text}\n`);
} finally {
  await databases.stop();
}

/** Creates in a table that holds many plants already. The sizes take turns. */
async function tableSizes(): Promise<string> {
  const entrants = [];
  for (const rows of TABLE_SIZES) {
    const database = await databases.create(`rows-${rows}`);
    await database.fill(rows);
    const running = await Running.start(PLANT_STORE, database.url, databases.folder);
    entrants.push({
      rows,
      database,
      running,
      created: 0,
      rates: [] as number[],
      p99: [] as number[],
    });
    progress.step(`filled with ${rows} rows`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const entrant of entrants) {
      const { created, seconds, latency } = await generator.run({
        url: entrant.running.url,
        connections: CONNECTIONS,
        seconds: SECONDS,
        first: entrant.created,
      });
      // Those whose answers did not arrive are stored as well.
      entrant.created += created + CONNECTIONS;
      entrant.rates.push(created / seconds);
      entrant.p99.push(latency[3] ?? NaN);
      progress.step(`${entrant.rows} rows · ${Math.round(created / seconds)} req/s`);
    }
  }
  await Promise.all(entrants.map(({ running }) => running.stop()));
  return table(
    ['rows in the table', 'req/s', 'p99 ms'],
    entrants.map(({ rows, rates, p99 }) => [
      rows.toLocaleString('en'),
      median(rates).toFixed(0),
      median(p99).toFixed(1),
    ]),
  );
}

/** Several processes on one database; the connections are shared out among them. */
async function processes(): Promise<string> {
  const rows: string[][] = [];
  const entrants = [];
  for (const count of PROCESSES) {
    const database = await databases.create(`processes-${count}`);
    const running = await Promise.all(
      Array.from({ length: count }, () =>
        Running.start(PLANT_STORE, database.url, databases.folder),
      ),
    );
    entrants.push({ count, database, running, rates: [] as number[], cpu: [] as number[] });
    progress.step(`${count} processes started`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const { count, database, running, rates, cpu } of entrants) {
      await database.clear();
      const before = await cpuOf(running);
      const results = await Promise.all(
        running.map(({ url }, i) =>
          generator.run({
            url,
            connections: CONNECTIONS / count,
            seconds: SECONDS,
            first: i * 500_000,
          }),
        ),
      );
      const created = results.reduce((sum, result) => sum + result.created, 0);
      rates.push(created / SECONDS);
      cpu.push(((await cpuOf(running)) - before) / created);
      progress.step(`${count} processes · ${Math.round(created / SECONDS)} req/s`);
    }
  }
  for (const { count, running, rates, cpu } of entrants) {
    rows.push([String(count), median(rates).toFixed(0), median(cpu).toFixed(0)]);
    await Promise.all(running.map((process) => process.stop()));
  }
  return table(['processes', 'req/s', 'CPU µs/req'], rows);
}

async function cpuOf(running: readonly Running[]): Promise<number> {
  const usages = await Promise.all(running.map((process) => process.usage()));
  return usages.reduce((sum, { cpu }) => sum + cpu, 0);
}

/** Starts on a database whose migrations are applied, with the memory that is in use then and after a load. */
async function starts(): Promise<string> {
  const database = await databases.create('starts');
  const times: number[] = [];
  const atRest: number[] = [];
  const afterLoad: number[] = [];
  for (let n = 0; n < STARTS; n++) {
    const begin = performance.now();
    const running = await Running.start(PLANT_STORE, database.url, databases.folder);
    times.push(performance.now() - begin);
    atRest.push((await running.usage()).memory);
    await database.clear();
    await generator.run({ url: running.url, connections: CONNECTIONS, seconds: SECONDS, first: 0 });
    afterLoad.push((await running.usage()).memory);
    await running.stop();
    progress.step(`start ${n + 1}`);
  }
  return table(
    ['start to listening, ms', 'memory at rest, MB', `after ${SECONDS} s of load, MB`],
    [
      [
        median(times).toFixed(0),
        (median(atRest) / 1e6).toFixed(0),
        (median(afterLoad) / 1e6).toFixed(0),
      ],
    ],
  );
}
