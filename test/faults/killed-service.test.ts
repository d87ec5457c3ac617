import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { tally } from '../support/reckoning.js';
import { expectReckoning } from '../support/verdicts.js';

it('keeps acknowledged plants after kill -9 in the middle of batches, five times', async ({
  postgres,
  replica,
}) => {
  const crowd = new Crowd({ urls: [replica.url], clients: 32 });
  for (let kill = 1; kill <= 5; kill += 1) {
    await crowd.served(100);
    // At a random moment, not always right after answers.
    await sleep(kill % 5);
    const lost = crowd.outcomes(({ outcome }) => outcome.kind === 'lost', 1);
    expect(await replica.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await lost;
    await replica.startAgain();
  }
  await crowd.served(100);
  await expectReckoning(crowd, postgres, replica);
  // A kill interrupted several requests, so it hit a batch.
  expect(tally(crowd.attempts)['lost']).toBeGreaterThan(10);
});
