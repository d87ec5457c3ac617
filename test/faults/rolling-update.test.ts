import { expect, vi } from 'vitest';
import { Crowd, GENTLE } from '../support/crowd.js';
import { itBehindProxy as it } from '../support/deployment.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import { startHaproxy, startNginx } from '../support/reverse-proxy.js';

/** Creates that are served before, between and after the steps of an update. */
const SOME = 100;

let postgres: OwnPostgres;
let port: number;

it.beforeEach(({ postgres: server, port: ofProxy }) => {
  [postgres, port] = [server, ofProxy];
});

it('updates two replicas behind a proxy three times without a failed request', async ({
  start,
  startProxy,
}) => {
  const environment = { SHUTDOWN_DELAY: undefined };
  const replicas = await Promise.all([start(environment), start(environment)]);
  const nginx = await startProxy(startNginx, 'nginx.conf', replicas);
  await update(nginx.ca, replicas);

  // The kernel resets connections that are made just when a replica stops listening. nginx may retry only these.
  const cutOff = nginx.complaints.match(/prematurely closed|Connection reset/g) ?? [];
  expect(cutOff.length).toBeLessThanOrEqual(2 * replicas.length);
});

it('needs no retry of a proxy that probes the readiness of the replicas', async ({
  replicas,
  startProxy,
}) => {
  const haproxy = await startProxy(startHaproxy, 'haproxy.cfg', replicas);
  const changes: string[] = [];
  await update(haproxy.ca, replicas, async (replica) => {
    const server = `Server plant_store/${replica === replicas[0] ? 'first' : 'second'}`;
    changes.push(
      `${server} is DOWN, reason: Layer7 wrong status, code: 503`,
      `${server} is UP, reason: Layer7 check passed, code: 200`,
    );
    await vi.waitFor(() => expect(eventsIn(haproxy.log)).toEqual(changes), PATIENCE);
  });
  await haproxy.stop();
  // No second try and no answer of its own, either: a request that came before a replica was ready would
  // have been refused.
  expect(eventsIn(haproxy.log)).toEqual(changes);
});

/** Replaces the replicas one after the other, several times, and summarizes the answers. */
async function update(
  ca: string,
  replicas: readonly Replica[],
  takenUp: (replica: Replica) => Promise<void> = async () => {},
): Promise<void> {
  const crowd = new Crowd({ urls: [`https://localhost:${port}/api/plants`], ca, pause: GENTLE });
  await crowd.served(SOME);
  for (let round = 1; round <= 3; round += 1) {
    for (const replica of replicas) {
      expect(await replica.terminate()).toEqual({ code: 0, signal: null });
      await crowd.served(SOME);
      await replica.startAgain();
      await takenUp(replica);
      await crowd.served(SOME);
    }
  }
  const attempts = await crowd.stop();

  expect(attempts.filter((attempt) => !isServed(attempt)).map(inWords)).toEqual([]);
  expect(contradictions(attempts, await postgres.plants())).toEqual([]);
  expect(tally(attempts)).toMatchObject({
    '200': expect.any(Number) as number,
    '40003': expect.any(Number) as number,
    '40009': expect.any(Number) as number,
  });
  for (const { service } of replicas) expect(service.stderr).toBe('');
}

/** What HAProxy has logged, without the details of a check. */
function eventsIn(log: string): string[] {
  // The last element is an incomplete line, or empty.
  const lines = log.split('\n').slice(0, -1);
  return lines.map((line) => line.replace(/, (info|check duration): .*/, ''));
}
