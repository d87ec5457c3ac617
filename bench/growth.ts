import { parseArgs } from 'node:util';
import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { CONNECTIONS, GROUP, GrownTable } from './grown-table.js';
import { bestLoadGenerator } from './load.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run bench:growth: throughput with a growing table, what creates cost PostgreSQL there, and the cost of a start. */

const ROUNDS = 5;
const SECONDS = 4;
const TABLE_SIZES = [0, 1_000_000, 10_000_000];
const STARTS = 7;

/** Seconds of load until almost every page of the largest index has changed since the last checkpoint. */
const SETTLING = 15;

const { values: options } = parseArgs({
  options: {
    /** `name=value` of a setting of PostgreSQL. */
    set: { type: 'string', multiple: true, default: [] },
  },
});
const generator = await bestLoadGenerator();
const databases = await Databases.start(Object.fromEntries(options.set.map(nameAndValue)));
const progress = new Progress(TABLE_SIZES.length * (2 * ROUNDS + 2) + STARTS);
try {
  const text = [await tableSizes(), await starts()].join('\n\n');
  progress.end();
  process.stdout.write(`${text}\n`);
} finally {
  await databases.stop();
}

function nameAndValue(setting: string): [name: string, value: string] {
  const [name = '', value = ''] = setting.split('=');
  return [name, value];
}

/** Creates plants in tables of several sizes, which take turns. */
async function tableSizes(): Promise<string> {
  const tables: GrownTable[] = [];
  for (const rows of TABLE_SIZES) {
    const grown = await GrownTable.start(rows, databases, generator);
    tables.push(grown);
    await grown.create(SECONDS);
    progress.step(`filled with ${rows} rows`);
  }
  const plans: string[][] = [];
  const explain = async (grown: GrownTable, when: string) => {
    plans.push([grown.rows.toLocaleString('en'), when, ...(await grown.explain())]);
  };
  for (const grown of tables) {
    await grown.checkpoint();
    await explain(grown, 'after a checkpoint');
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const grown of tables) {
      await grown.checkpoint();
      const { rate } = await grown.create(SECONDS);
      grown.afterCheckpoint.push(rate);
      progress.step(`${grown.rows} rows · after a checkpoint · ${Math.round(rate)} req/s`);
    }
  }
  for (const grown of tables) {
    await grown.create(SETTLING);
    await explain(grown, 'later');
    progress.step(`${grown.rows} rows`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const grown of tables) {
      const { rate, p99 } = await grown.create(SECONDS);
      grown.later.push(rate);
      grown.p99.push(p99);
      progress.step(`${grown.rows} rows · later · ${Math.round(rate)} req/s`);
    }
  }
  await Promise.all(tables.map((grown) => grown.stop()));
  const [empty] = tables;
  const share = (rates: readonly number[], ofEmpty: readonly number[] = []) =>
    median(rates.map((rate, round) => rate / (ofEmpty[round] ?? NaN))).toFixed(2);
  return [
    table(
      ['rows in the table', 'req/s after a checkpoint', 'share', 'req/s later', 'share', 'p99 ms'],
      tables.map(({ rows, afterCheckpoint, later, p99 }) => [
        rows.toLocaleString('en'),
        median(afterCheckpoint).toFixed(0),
        share(afterCheckpoint, empty?.afterCheckpoint),
        median(later).toFixed(0),
        share(later, empty?.later),
        median(p99).toFixed(1),
      ]),
    ),
    table(['rows in the table', `a group of ${GROUP}`, 'buffers', 'WAL'], plans),
  ].join('\n\n');
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
