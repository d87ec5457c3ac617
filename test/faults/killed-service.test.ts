import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { tally } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import { expectReckoning } from '../support/verdicts.js';

let workspace: Workspace;
let postgres: OwnPostgres;

beforeEach(async () => {
  [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
});

afterEach(async () => {
  await workspace.remove();
  await postgres.stop();
});

it('keeps acknowledged plants after kill -9 in the middle of batches, twenty times', async () => {
  const replica = await Replica.start(workspace, { DATABASE_URL: postgres.url });
  const crowd = new Crowd({ urls: [replica.url], clients: 32 });
  for (let kill = 1; kill <= 20; kill += 1) {
    await crowd.served(100);
    // At a random moment, not always right after answers.
    await sleep(kill % 5);
    const lost = crowd.outcomes(({ outcome }) => outcome.kind === 'lost', 1);
    replica.service.kill('SIGKILL');
    expect(await replica.service.exit()).toEqual({ code: null, signal: 'SIGKILL' });
    await lost;
    await replica.startAgain();
  }
  await crowd.served(100);
  await expectReckoning(crowd, postgres, replica);
  // A kill interrupted several requests, so it hit a batch.
  expect(tally(crowd.attempts)['lost']).toBeGreaterThan(40);
});
