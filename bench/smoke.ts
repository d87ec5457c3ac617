import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { PLANT_STORE, Running, VARIANTS, YARDSTICKS } from './contender.js';
import type { Contender } from './contender.js';
import { credentialsOf } from './credentials.js';
import { Databases } from './databases.js';
import type { BenchDatabase } from './databases.js';
import { AUTOCANNON, bestLoadGenerator, OPERATIONS, plantOf, targetOf } from './load.js';
import type { Operation } from './load.js';
import { buildNative } from './native.js';
import { latencyPicture, throughputPicture } from './pictures.js';
import { report } from './report.js';
import type { Results } from './report.js';
import { run } from './run.js';

/* npm run bench:smoke: a short benchmark that checks answers and rows, but never times. */

/** The sizes of the pages. */
const SIZES = { 'page-20': 20, 'page-49': 49, 'page-50': 50, 'tag-20': 20, 'tag-50': 50 } as const;

const { values: options } = parseArgs({ options: { with: { type: 'string' } } });
const native = await buildNative(options.with);
const contenders = [PLANT_STORE, ...VARIANTS, ...YARDSTICKS, ...native];

const databases = await Databases.start();
try {
  for (const contender of contenders) await check(contender);
} finally {
  await databases.stop();
}

/** Creates plants, looks them up and lists them. */
async function check(contender: Contender): Promise<void> {
  const database = await databases.create(contender.name);
  const credentials = await credentialsOf(contender, database.url);
  const running = await Running.start(contender, database.url, databases.folder, credentials);
  try {
    for (const [n, token] of running.tokens.entries()) {
      const { id, ...content } = plantOf(n);
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
      const body = JSON.stringify({ id, ...content });
      const created = await fetch(`${running.url}/plants`, { method: 'POST', headers, body });
      assert.equal(created.status, 200, contender.name);
      assert.deepEqual(await created.json(), content, contender.name);
      const found = await fetch(`${running.url}/plants/${id}`, { headers });
      assert.equal(found.status, 200, contender.name);
      assert.deepEqual(await found.json(), { id, ...content }, contender.name);
    }
    const rows = running.tokens.length;
    assert.deepEqual(await database.stored(), { rows, asSent: true }, contender.name);
    await checkPages(running, database);
  } finally {
    await running.stop();
    await credentials.close();
  }
}

/** Asks for a whole page and for the last one, of each kind, and searches for a plant. */
async function checkPages({ contender, url, tokens }: Running, database: BenchDatabase) {
  await database.hold(100);
  const plants = Array.from({ length: 100 }, (_, n) => plantOf(n));
  plants.sort((one, other) => one.id - other.id);
  const get = async (operation: Operation, id: number): Promise<unknown> => {
    const answer = await fetch(`${url}${targetOf(operation, id)}`, {
      headers: { Authorization: `Bearer ${tokens[0]}` },
    });
    assert.equal(answer.status, 200, `${contender.name}: ${operation}`);
    return answer.json();
  };
  for (const [operation, size] of Object.entries(SIZES) as [keyof typeof SIZES, number][]) {
    for (const first of [25, 97]) {
      const page = await get(operation, plants[first - 1]!.id);
      assert.deepEqual(page, plants.slice(first, first + size), `${contender.name}: ${operation}`);
    }
  }
  if (contender.isService !== true) return;
  assert.deepEqual(await get('search', plants[7]!.id), [plants[7]], contender.name);
}

const course = {
  // What the contenders answer has been seen, so one size of pages is enough.
  operations: OPERATIONS.filter((operation) => !/49|50/.test(operation)),
  rounds: 1,
  isWarmedUp: false,
  seconds: 1,
  levels: [64],
};
const generator = await bestLoadGenerator();
const results = await run({ ...course, contenders, generator });
expectNoErrors(results);
const text = report(results);
for (const { title } of contenders) assert(text.includes(`| ${title} | 64 |`), title);
const pictures = [
  await throughputPicture(results, 'create'),
  await throughputPicture(results, 'look-up'),
  await latencyPicture(results),
];
for (const picture of pictures) {
  for (const { title } of [PLANT_STORE, ...YARDSTICKS, ...native]) {
    assert(picture.includes(title), title);
  }
}
// The generator of a machine without a better one.
if (generator !== AUTOCANNON) {
  expectNoErrors(await run({ ...course, contenders: [PLANT_STORE], generator: AUTOCANNON }));
}
process.stdout.write(`${generator.name}: ${contenders.length} contenders answered and stored\n`);

function expectNoErrors({ medians }: Results): void {
  for (const { contender, errors } of medians) assert.equal(errors, 0, contender);
}
