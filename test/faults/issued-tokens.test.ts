import { expect, vi } from 'vitest';
import { it } from '../support/deployment.js';
import { FaultyLink } from '../support/faulty-link.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import {
  ACCEPTED,
  courseOf,
  crowdOf,
  expectAnswer,
  expectExpiry,
  EXPIRED,
  NOTICED,
  probe,
  REFUSED,
  SOME,
  timeOf,
  tokenRun,
  TokenWatch,
  UNAVAILABLE,
} from '../support/token-watch.js';

/** The bounds of docs/tokens.md, in milliseconds. */
const REVOCATION = 10_000;
const OUTAGE = 60_000;
const REFRESH = 5_000;

/** For what happens at a bound under load. */
const SLACK = 2_000;

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

it('accepts tokens for 60 s without the database, and then answers 503 until it is back', async ({
  start,
}) => {
  const link = await FaultyLink.to(postgres.url);
  try {
    const environment = { DATABASE_URL: link.url };
    replicas = [await start(environment), await start(environment)];
    const [token, expiring] = await Promise.all([create(), create('--expires', '30s')]);
    await expectAnswer(ACCEPTED, replicas, [token, expiring]);
    const watches = watch(token);
    const down = Date.now();
    link.poison({ kind: 'down' });
    await Promise.all(
      watches.map((watched) => watched.answeredSince(down + OUTAGE + SLACK, OUTAGE + 30_000)),
    );
    await expectAnswer(EXPIRED, replicas, [expiring]);
    link.cure();
    await vi.waitFor(() => expectAnswer(ACCEPTED, replicas, [token]), NOTICED);
    for (const watched of watches) {
      const answers = await watched.stop();
      expect(courseOf(answers)).toEqual([ACCEPTED, UNAVAILABLE, ACCEPTED]);
      const first = answers.find(({ answer }) => answer === UNAVAILABLE)!;
      // The last reading was up to 5 s before the outage.
      expect(first.done).toBeGreaterThan(down + OUTAGE - REFRESH - SLACK);
      expect(first.sent).toBeLessThan(down + OUTAGE + SLACK);
    }
  } finally {
    await link.close();
  }
});
