import { expect } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { tally } from '../support/reckoning.js';
import { expectReckoning } from '../support/verdicts.js';

it('has one winner for each id that clients of two replicas create at once', async ({
  postgres,
  replicas,
}) => {
  const crowd = new Crowd({ urls: replicas.map(({ url }) => url), clients: 32, rivalry: 2n });
  await crowd.served(3_000, 60_000);
  await expectReckoning(crowd, postgres, ...replicas);
  expect(Object.keys(tally(crowd.attempts)).toSorted()).toEqual(['200', '40003', '40009']);
});
