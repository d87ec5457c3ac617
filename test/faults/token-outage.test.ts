import { expect, vi } from 'vitest';
import { it } from '../support/deployment.js';
import { FaultyLink } from '../support/faulty-link.js';
import {
  ACCEPTED,
  courseOf,
  expectAnswer,
  EXPIRED,
  NOTICED,
  probe,
  tokenRun,
  TokenWatch,
  UNAVAILABLE,
} from '../support/token-watch.js';

/** The bounds of docs/tokens.md, in milliseconds. */
const OUTAGE = 60_000;
const REFRESH = 5_000;

/** For what happens at a bound while other tests keep the processors busy. */
const SLACK = 5_000;

it('a service accepts issued tokens for 60 s without the database, and then answers 503 until it is back', async ({
  postgres,
  start,
}) => {
  const link = await FaultyLink.to(postgres.url);
  try {
    const environment = { DATABASE_URL: link.url };
    const replicas = [await start(environment), await start(environment)];
    const create = (...args: readonly string[]) =>
      tokenRun(postgres, 'create', '--name', 'test', ...args);
    const [token, expiring] = await Promise.all([create(), create('--expires', '30s')]);
    await expectAnswer(ACCEPTED, replicas, [token, expiring]);
    const watches = replicas.map((replica) => new TokenWatch(probe(replica), token));
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
