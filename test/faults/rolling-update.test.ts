import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PATIENCE } from '../support/patience.js';
import { Crowd } from '../support/crowd.js';
import { startHaproxy } from '../support/haproxy.js';
import { lastingPort } from '../support/lasting-port.js';
import { startNginx } from '../support/nginx.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import type { Environment } from '../support/process.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import type { ReverseProxy, ReverseProxyOptions } from '../support/reverse-proxy.js';

/** Creates that are served before, between and after the steps of an update. */
const SOME = 300;

let workspace: Workspace;
let postgres: OwnPostgres;
let port: number;
let replicas: Replica[];
let proxy: ReverseProxy | undefined;

beforeEach(async () => {
  [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
  port = await lastingPort();
});

afterEach(async () => {
  await proxy?.stop();
  proxy = undefined;
  await workspace.remove();
  await postgres.stop();
});

it('updates two replicas behind a proxy three times without a failed request', async () => {
  await startReplicas();
  const nginx = await startNginx(optionsOf('nginx.conf'));
  proxy = nginx;
  await update(nginx);

  // The kernel resets connections that are made just when a replica stops listening. nginx may retry only these.
  const cutOff = nginx.complaints.match(/prematurely closed|Connection reset/g) ?? [];
  expect(cutOff.length).toBeLessThanOrEqual(2 * replicas.length);
});

it('needs no retry of a proxy that probes the readiness of the replicas', async () => {
  // Longer than two checks may take.
  await startReplicas({ SHUTDOWN_DELAY: '3' });
  const haproxy = await startHaproxy(optionsOf('haproxy.cfg'));
  proxy = haproxy;
  const changes: string[] = [];
  await update(haproxy, async (replica) => {
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

async function startReplicas(environment: Environment = {}): Promise<void> {
  const all = {
    DATABASE_URL: postgres.url,
    PUBLIC_BASE_URL: `https://localhost:${port}/api`,
    TRUST_PROXY: 'loopback',
    ...environment,
  };
  replicas = await Promise.all([1, 2].map(() => Replica.start(workspace, all)));
}

function optionsOf(template: string): ReverseProxyOptions {
  const [first, second] = replicas as [Replica, Replica];
  return {
    folder: workspace.folder,
    template: fileURLToPath(new URL(template, import.meta.url)),
    port,
    values: {
      FIRST: String(first.port),
      SECOND: String(second.port),
      FIRSTMANAGEMENT: String(first.managementPort),
      SECONDMANAGEMENT: String(second.managementPort),
    },
  };
}

/** Replaces the replicas one after the other, several times, and summarizes the answers. */
async function update(
  { ca }: ReverseProxy,
  takenUp: (replica: Replica) => Promise<void> = async () => {},
): Promise<void> {
  const crowd = new Crowd({ urls: [`https://localhost:${port}/api/plants`], ca });
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
