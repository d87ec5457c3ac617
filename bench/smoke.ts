import assert from 'node:assert/strict';
import { PLANT_STORE, Running, TOKEN, YARDSTICKS } from './contender.js';
import { Databases } from './databases.js';
import { AUTOCANNON, bestLoadGenerator, plantOf } from './load.js';
import { latencyPicture, throughputPicture } from './pictures.js';
import { report } from './report.js';
import { run } from './run.js';

/* npm run bench:smoke: a short benchmark that checks answers and rows, but never times. */

const contenders = [PLANT_STORE, ...YARDSTICKS];

const databases = await Databases.start();
try {
  for (const contender of contenders) {
    const database = await databases.create(contender.name);
    const running = await Running.start(contender, database.url, databases.folder);
    try {
      const { id, ...content } = plantOf(7);
      const answer = await fetch(`${running.url}/plants`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}` },
        body: JSON.stringify({ id, ...content }),
      });
      assert.equal(answer.status, 200, contender.name);
      assert.deepEqual(await answer.json(), content, contender.name);
      assert.deepEqual(await database.stored(), { rows: 1, asSent: true }, contender.name);
    } finally {
      await running.stop();
    }
  }
} finally {
  await databases.stop();
}

for (const generator of new Set([AUTOCANNON, await bestLoadGenerator()])) {
  const results = await run({ contenders, generator, rounds: 1, seconds: 1, levels: [64] });
  for (const { contender, errors } of results.medians) assert.equal(errors, 0, contender);
  const text = report(results);
  for (const { title } of contenders) assert(text.includes(`| ${title} | 64 |`), title);
  for (const picture of [await throughputPicture(results), await latencyPicture(results)]) {
    for (const { title } of contenders) assert(picture.includes(title), title);
  }
  process.stdout.write(`${generator.name}: ${contenders.length} contenders answered and stored\n`);
}
