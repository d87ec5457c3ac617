import { parseArgs } from 'node:util';
import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { CONNECTIONS, GROUP, GrownTable } from './grown-table.js';
import type { Creates } from './grown-table.js';
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
      const creates = await grown.create(SECONDS);
      grown.afterCheckpoint.push(creates);
      progress.step(`${grown.rows} rows · after a checkpoint · ${described(creates)}`);
    }
  }
  for (const grown of tables) {
    await grown.create(SETTLING);
    await explain(grown, 'later');
    progress.step(`${grown.rows} rows`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const grown of tables) {
      const creates = await grown.create(SECONDS);
      grown.later.push(creates);
      progress.step(`${grown.rows} rows · later · ${described(creates)}`);
    }
  }
  await Promise.all(tables.map((grown) => grown.stop()));
  return [
    sizesTable('after a checkpoint', tables, (grown) => grown.afterCheckpoint),
    sizesTable('later', tables, (grown) => grown.later),
    table(['rows in the table', `a group of ${GROUP}`, 'buffers', 'WAL'], plans),
  ].join('\n\n');
}

function described({ perSecond, database }: Creates): string {
  return `${Math.round(perSecond)} req/s · ${database.toFixed(1)} µs of PostgreSQL`;
}

/** Medians, beside the median of the ratios to the first table. */
function sizesTable(
  when: string,
  tables: readonly GrownTable[],
  of: (grown: GrownTable) => readonly Creates[],
): string {
  const empty = tables.slice(0, 1).flatMap(of);
  return table(
    [`rows, ${when}`, 'req/s', 'share', 'p99 ms', 'PostgreSQL µs/req'],
    tables.map((grown) => [
      grown.rows.toLocaleString('en'),
      median(of(grown).map(({ perSecond }) => perSecond)).toFixed(0),
      median(
        of(grown).map(({ perSecond }, round) => perSecond / (empty[round]?.perSecond ?? NaN)),
      ).toFixed(2),
      median(of(grown).map(({ p99 }) => p99)).toFixed(1),
      median(of(grown).map(({ database }) => database)).toFixed(1),
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
