import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { bestLoadGenerator } from './load.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run bench:growth: throughput with a growing table, and the cost of a start. */

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 64;
const TABLE_SIZES = [0, 1_000_000, 10_000_000];
const STARTS = 7;

const generator = await bestLoadGenerator();
const databases = await Databases.start();
const progress = new Progress(TABLE_SIZES.length * (ROUNDS + 1) + STARTS);
try {
  const text = [await tableSizes(), await starts()].join('\n\n');
  progress.end();
  process.stdout.write(`${text}\n`);
} finally {
  await databases.stop();
}

/** Creates plants in a table that already has many. The sizes take turns. */
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
      const { succeeded, seconds, latency } = await generator.run({
        url: entrant.running.url,
        connections: CONNECTIONS,
        seconds: SECONDS,
        first: entrant.created,
      });
      // Plants whose answers did not arrive are stored as well.
      entrant.created += succeeded + CONNECTIONS;
      entrant.rates.push(succeeded / seconds);
      entrant.p99.push(latency[3] ?? NaN);
      progress.step(`${entrant.rows} rows · ${Math.round(succeeded / seconds)} req/s`);
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

/** Starts on a migrated database, and measures the memory before and after a load. */
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
