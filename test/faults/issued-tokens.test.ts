import { expect } from 'vitest';
import { it } from '../support/deployment.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import {
  ACCEPTED,
  courseOf,
  crowdOf,
  expectExpiry,
  EXPIRED,
  probe,
  REFUSED,
  SOME,
  timeOf,
  tokenRun,
  TokenWatch,
} from '../support/token-watch.js';

/** The bound of docs/tokens.md, in milliseconds. */
const REVOCATION = 10_000;

let postgres: OwnPostgres;
let replicas: readonly [Replica, Replica];

it.beforeEach(({ postgres: server }) => {
  postgres = server;
});

const create = (...args: readonly string[]) =>
  tokenRun(postgres, 'create', '--name', 'test', ...args);

const watch = (token: string) => replicas.map((replica) => new TokenWatch(probe(replica), token));

it('refuses a revoked token within 10 s, and an expired one from its second, on both replicas', async ({
  replicas: both,
}) => {
  replicas = both;
  const lasting = await create();
  const clients = crowdOf(replicas, () => lasting);
  await clients.served(SOME);

  const [revoked, expiring] = await Promise.all([create(), create('--expires', '12s')]);
  const expiry = await timeOf(postgres, 'expires_at', expiring);
  const [revocation, expiration] = [watch(revoked), watch(expiring)];
  // The first answers wait for the register, which may read the table later than a quick command revokes the token.
  await Promise.all(
    [...revocation, ...expiration].map((watched) => watched.answeredSince(0, PATIENCE)),
  );
  await clients.served(SOME);
  const begin = Date.now();
  await tokenRun(postgres, 'revoke', idOf(revoked));
  const end = Date.now();
  await Promise.all([
    ...revocation.map((watched) => watched.answeredSince(end + REVOCATION, PATIENCE)),
    ...expiration.map((watched) => watched.answeredSince(expiry + 1_000, PATIENCE)),
  ]);

  for (const watched of revocation) {
    const answers = await watched.stop();
    expect(courseOf(answers)).toEqual([ACCEPTED, REFUSED]);
    const refusedAt = answers.find(({ answer }) => answer === REFUSED)!;
    expect(refusedAt.done).toBeGreaterThan(begin);
    expect(refusedAt.sent).toBeLessThan(end + REVOCATION);
  }
  for (const watched of expiration) {
    const answers = await watched.stop();
    expect(courseOf(answers)).toEqual([ACCEPTED, EXPIRED]);
    expectExpiry(answers, expiry);
  }
  await clients.served(SOME);
  const attempts = await clients.stop();
  expect(attempts.filter((attempt) => !isServed(attempt)).map(inWords)).toEqual([]);
  expect(tally(attempts)).not.toHaveProperty('40101');
  expect(contradictions(attempts, await postgres.plants())).toEqual([]);
});
