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

it('has one winner for each id that clients of two replicas create at once', async () => {
  const replicas = await Promise.all(
    [1, 2].map(() => Replica.start(workspace, { DATABASE_URL: postgres.url })),
  );
  const crowd = new Crowd({ urls: replicas.map(({ url }) => url), clients: 32, rivalry: 2n });
  await crowd.served(20_000, 60_000);
  await expectReckoning(crowd, postgres, ...replicas);
  expect(Object.keys(tally(crowd.attempts)).toSorted()).toEqual(['200', '40003', '40009']);
});
