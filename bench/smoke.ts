import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { PLANT_STORE, Running, VARIANTS, YARDSTICKS } from './contender.js';
import type { Contender } from './contender.js';
import { credentialsOf } from './credentials.js';
import { Databases } from './databases.js';
import type { BenchDatabase } from './databases.js';
import { AUTOCANNON, bestLoadGenerator, OPERATIONS, PAGE, plantOf } from './load.js';
import { buildNative } from './native.js';
import { latencyPicture, throughputPicture } from './pictures.js';
import { report } from './report.js';
import { run } from './run.js';

/* npm run bench:smoke: a short benchmark that checks answers and rows, but never times. */

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

/** Asks for a whole page and for the last one. */
async function checkPages({ contender, url, tokens }: Running, database: BenchDatabase) {
  await database.clear();
  await database.store(2 * PAGE);
  const plants = Array.from({ length: 2 * PAGE }, (_, n) => plantOf(n));
  plants.sort((one, other) => one.id - other.id);
  for (const first of [PAGE / 2, 2 * PAGE - 3]) {
    const answer = await fetch(`${url}/plants?limit=${PAGE}&after=${plants[first - 1]?.id}`, {
      headers: { Authorization: `Bearer ${tokens[0]}` },
    });
    assert.equal(answer.status, 200, contender.name);
    assert.deepEqual(await answer.json(), plants.slice(first, first + PAGE), contender.name);
  }
}

for (const generator of new Set([AUTOCANNON, await bestLoadGenerator()])) {
  const results = await run({
    contenders,
    generator,
    operations: OPERATIONS,
    rounds: 1,
    isWarmedUp: false,
    seconds: 1,
    levels: [64],
  });
  for (const { contender, errors } of results.medians) assert.equal(errors, 0, contender);
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
  process.stdout.write(`${generator.name}: ${contenders.length} contenders answered and stored\n`);
}
