import { expect, vi } from 'vitest';
import { Crowd, GENTLE } from '../support/crowd.js';
import { itBehindProxy as it } from '../support/deployment.js';
import { MountedSecret } from '../../packages/framework/test/support/mounted-secret.js';
import { connect, plantsIn } from '../support/own-postgres.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import type { Environment } from '../support/process.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import type { Attempt } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import { startHaproxy } from '../support/reverse-proxy.js';
import type { ReverseProxy } from '../support/reverse-proxy.js';
import { Wallet } from '../support/wallet.js';

/** Creates that are served before, between and after the steps of a rotation. */
const SOME = 100;

const [FIRST, SECOND, THIRD] = ['1', '2', '3'].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
];

/** The service looks at its files every 5 s. */
const NOTICED = { timeout: PATIENCE, interval: 100 };

let postgres: OwnPostgres;
let port: number;
let replicas: readonly Replica[];
let proxy: ReverseProxy;
let start: (environments: readonly Environment[]) => Promise<void>;

it.beforeEach(({ postgres: server, port: ofProxy, start: startReplica, startProxy }) => {
  [postgres, port] = [server, ofProxy];
  /** Two replicas behind HAProxy, which sends nothing a second time. */
  start = async (environments) => {
    replicas = await Promise.all(environments.map((environment) => startReplica(environment)));
    proxy = await startProxy(startHaproxy, 'haproxy.cfg', replicas);
  };
});

function crowd(options: { token?: () => string; firstId?: bigint } = {}): Crowd {
  const urls = [`https://localhost:${port}/api/plants`];
  return new Crowd({ urls, ca: proxy.ca, pause: GENTLE, ...options });
}

/** Whether a replica accepts a token: there is no plant 1. A refusal is 401, or 429 after many of them. */
async function accepts(replica: Replica, token: string): Promise<boolean> {
  const { status } = await fetch(`http://127.0.0.1:${replica.port}/api/plants/1`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  return status === 404;
}

function expectAllServed(attempts: readonly Attempt[]): void {
  expect(attempts.filter((attempt) => !isServed(attempt)).map(inWords)).toEqual([]);
  expect(tally(attempts)).not.toHaveProperty('40101');
  for (const { service } of replicas) expect(service.stderr).toBe('');
}

it('rolls from token to token by files, without a restart and without a refused request', async ({
  workspace,
}) => {
  // Each has its own, because the nodes of a cluster get a new Secret at different times.
  const mounts = await Promise.all(
    ['a', 'b'].map((name) => MountedSecret.create(workspace.path(name), { token: FIRST })),
  );
  await start(
    mounts.map((mount) => ({
      AUTH_TOKEN: undefined,
      AUTH_TOKEN_FILE: mount.path('token'),
      AUTH_TOKEN_PREVIOUS_FILE: mount.path('previous-token'),
    })),
  );
  const wallet = new Wallet(FIRST);
  const clients = crowd({ token: wallet.next });
  await clients.served(SOME);

  for (const [previous, token] of [
    [FIRST, SECOND],
    [SECOND, THIRD],
  ] as const) {
    for (const [i, mount] of mounts.entries()) {
      await mount.replace({ token, 'previous-token': previous });
      await vi.waitFor(async () => expect(await accepts(replicas[i]!, token)).toBe(true), NOTICED);
      await clients.served(SOME);
    }
    await wallet.change(token, clients);
    for (const [i, mount] of mounts.entries()) {
      await mount.replace({ token });
      await vi.waitFor(
        async () => expect(await accepts(replicas[i]!, previous)).toBe(false),
        NOTICED,
      );
      await clients.served(SOME);
    }
  }

  expectAllServed(await clients.stop());
  expect(contradictions(clients.attempts, await postgres.plants())).toEqual([]);
});

it('rolls from token to token by variables and restarts, without a refused request', async () => {
  const environment = { AUTH_TOKEN: FIRST };
  await start([environment, environment]);
  const wallet = new Wallet(FIRST);
  const clients = crowd({ token: wallet.next });
  await clients.served(SOME);

  await restartAll({ AUTH_TOKEN: SECOND, AUTH_TOKEN_PREVIOUS: FIRST }, clients);
  await wallet.change(SECOND, clients);
  await restartAll({ AUTH_TOKEN_PREVIOUS: undefined }, clients);
  for (const replica of replicas) expect(await accepts(replica, FIRST)).toBe(false);

  expectAllServed(await clients.stop());
  expect(contradictions(clients.attempts, await postgres.plants())).toEqual([]);
});

it('takes a new password of the database without a restart and without a refused request', async ({
  workspace,
}) => {
  await postgres.query(`CREATE ROLE plants LOGIN PASSWORD '${FIRST}'`);
  await postgres.query('CREATE DATABASE plants OWNER plants');
  const mounts = await Promise.all(
    ['a', 'b'].map((name) => MountedSecret.create(workspace.path(name), { uri: urlWith(FIRST) })),
  );
  await start(
    mounts.map((mount) => ({ DATABASE_URL: undefined, DATABASE_URL_FILE: mount.path('uri') })),
  );
  const attempts: Attempt[] = [];
  let firstId = 2n ** 60n;
  /** Clients of which the first need new connections. */
  const load = async (during: (clients: Crowd) => Promise<void> = async () => {}) => {
    const clients = crowd({ firstId });
    firstId += 2n ** 40n;
    await clients.served(SOME);
    await during(clients);
    await clients.served(SOME);
    attempts.push(...(await clients.stop()));
    await disconnect();
  };
  await load();

  for (const [round, password] of [SECOND, THIRD].entries()) {
    const alter = () => postgres.query(`ALTER ROLE plants PASSWORD '${password}'`);
    // The file first: PostgreSQL still refuses this password.
    await load(async () => {
      await Promise.all(mounts.map((mount) => mount.replace({ uri: urlWith(password) })));
      const message = 'the new DATABASE_URL does not work: the former stays in use';
      await Promise.all(replicas.map(({ service }) => service.logged(message, round + 1)));
    });
    await load(async () => {
      if (round === 0) await alter();
    });
    // All connections are new, and most begin before the service looks at its file again.
    if (round === 1) await alter();
    await load();
    await expect(connect(urlWith(round === 0 ? FIRST : SECOND))).rejects.toMatchObject({
      code: '28P01',
    });
  }

  expectAllServed(attempts);
  expect(contradictions(attempts, await plantsIn(databaseUrl()))).toEqual([]);
  for (const { service } of replicas) {
    expect(service.stdout).not.toMatch(new RegExp(`${FIRST}|${SECOND}|${THIRD}`));
  }
});

/** Replaces one replica after the other. */
async function restartAll(environment: Environment, clients: Crowd): Promise<void> {
  for (const replica of replicas) {
    expect(await replica.terminate()).toEqual({ code: 0, signal: null });
    await clients.served(SOME);
    await replica.startAgain({ environment });
    // HAProxy checks every 200 ms.
    await clients.served(SOME);
    await vi.waitFor(() => expect(proxy.log).toMatch(/is UP[^\n]*\n(?![^]*is DOWN)/), NOTICED);
  }
}

/** Of the service, as the owner of the cluster sees it. */
function databaseUrl(): string {
  const url = new URL(postgres.url);
  url.pathname = '/plants';
  return url.href;
}

function urlWith(password: string): string {
  return Object.assign(new URL(databaseUrl()), { username: 'plants', password }).href;
}

/** Ends all connections of the service, while it does not use them. */
async function disconnect(): Promise<void> {
  await vi.waitFor(async () => {
    // Again each time: the service reads its tokens now and then.
    await postgres.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plants'",
    );
    for (const replica of replicas) expect(await replica.connections()).toBe(0);
  }, NOTICED);
}
