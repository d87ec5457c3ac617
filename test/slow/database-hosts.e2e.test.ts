import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect, STARTUP_LIMITS } from '../../packages/framework/src/database/connect.js';
import {
  applyMigrations,
  revertMigration,
} from '../../packages/framework/src/database/migrations/migrate.js';
import { createDataSource } from '../support/data-source.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { startReplicatedPostgres } from '../support/replicated-postgres.js';
import type { ReplicatedPostgres, ReplicatedServer } from '../support/replicated-postgres.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { given } from '../../packages/framework/test/support/test-database.js';
import { serviceForTest, startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const HURRIED = { ...STARTUP_LIMITS, wait: 2_000, retry: 20 };

/** A port that refuses connections: nobody may listen on it. */
const REFUSED = '127.0.0.1:1';

/** Puts hosts in front of the host of a URL. */
function withHosts(url: string, ...hosts: string[]): string {
  const { host } = new URL(url);
  return url.replace(host, [...hosts, host].join(','));
}

/** Accepts connections and never answers. */
async function startSilentServer() {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a database URL with several hosts', () => {
  let database: TestDatabase;
  let silent: Awaited<ReturnType<typeof startSilentServer>>;
  const log = pino({ level: 'silent' });
  const { signal } = new AbortController();

  beforeAll(async () => {
    [database, silent] = await Promise.all([createTestDatabase(), startSilentServer()]);
  });

  afterAll(async () => {
    await silent.close();
    await database.drop();
  });

  it.each([
    ['refuses connections', () => [REFUSED]],
    ['never answers', () => [silent.host]],
    ['refuses connections, and a second host that never answers', () => [REFUSED, silent.host]],
  ])('leads to the primary although the first host %s', async (_, hosts) => {
    const url = withHosts(database.url, ...hosts());
    const service = await serviceForTest({ database: { ...database, url } });
    expect((await service.post({ id: 1, name: 'a' })).status).toBe(200);
    expect((await service.request('GET', '/plants/1')).status).toBe(200);
  });

  it('is migrated by the commands, too', async () => {
    const dataSource = createDataSource(withHosts(database.url, REFUSED));
    await connect(dataSource, { log, signal });
    await applyMigrations(dataSource, { log, signal });
    await revertMigration(dataSource, { log, signal });
    await applyMigrations(dataSource, { log, signal });
    await dataSource.destroy();
  });

  it('names every host, and why it is not used, when none is', async () => {
    const url = new URL(database.url);
    url.pathname = '/nothing';
    const failing = createDataSource(withHosts(url.href, REFUSED));
    const failure: unknown = await connect(failing, { log, signal, limits: HURRIED }).catch(
      (error: unknown) => error,
    );
    const { message } = failure as Error;
    expect(message).toMatch(
      /^DATABASE_URL: no host is a primary that responded within 2 s: 127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1, 127\.0\.0\.1:\d+: database "nothing" does not exist$/,
    );
    expect(message).not.toContain(url.password);
  });

  it('ends the start at once when no host can become usable by waiting', async () => {
    const url = new URL(database.url);
    url.pathname = '/nothing';
    const failing = createDataSource(withHosts(url.href, url.host));
    await expect(connect(failing, { log, signal })).rejects.toThrow(
      /^DATABASE_URL: cannot connect to [\d.]+:\d+, [\d.]+:\d+: /,
    );
  });

  it('skips a server whose sessions are read-only, unless the primary is all that is asked for', async () => {
    const fenced = await createTestDatabase();
    const name = new URL(fenced.url).pathname.slice(1);
    await fenced.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const url = withHosts(fenced.url, REFUSED);
    await expect(connect(createDataSource(url), { log, signal, limits: HURRIED })).rejects.toThrow(
      /: the sessions of the server are read-only$/,
    );
    const dataSource = createDataSource(`${url}?target_session_attrs=primary`);
    await connect(dataSource, { log, signal });
    await dataSource.destroy();
    await fenced.drop();
  });
});

describe('a cluster of a primary and a standby', () => {
  let postgres: ReplicatedPostgres;
  let service: TestService;

  beforeAll(async () => {
    postgres = await startReplicatedPostgres({ synchronous_standby_names: '*' });
  });

  afterEach(() => service.stop());
  afterAll(() => postgres.stop());

  /** Starts the service with the hosts in the given order. */
  function start(first: ReplicatedServer, second: ReplicatedServer): Promise<TestService> {
    const url = withHosts(second.url, new URL(first.url).host);
    return startTestService({ database: given(url) });
  }

  async function isServed(id: number): Promise<void> {
    await vi.waitFor(
      async () => expect((await service.post({ id, name: `Plant ${id}` })).status).toBe(200),
      { timeout: PATIENCE, interval: 20 },
    );
  }

  it('is used through its primary, although the standby is named first', async () => {
    const { primary, standby } = postgres;
    service = await start(standby, primary);
    // Reads of the standby would not find the plants.
    await standby.query('SELECT pg_wal_replay_pause()');
    for (let id = 1; id <= 20; id += 1) {
      expect((await service.post({ id, name: `Plant ${id}` })).status).toBe(200);
      expect((await service.request('GET', `/plants/${id}`)).status).toBe(200);
    }
    await standby.query('SELECT pg_wal_replay_resume()');
    expect(
      await standby.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'plant-store'"),
    ).toEqual([]);
  });

  it('is served again after each failover, without a restart and without a wrong answer', async () => {
    let { primary, standby } = postgres;
    service = await start(primary, standby);
    const acknowledged: number[] = [];
    const wrong: string[] = [];
    let next = 1_000;
    const end = new AbortController();
    const clients = Array.from({ length: 4 }, async () => {
      while (!end.signal.aborted) {
        const id = next++;
        const created = await service.post({ id, name: `Plant ${id}` });
        if (created.status !== 200 && created.status !== 503) wrong.push(created.text);
        if (created.status !== 200) continue;
        acknowledged.push(id);
        const { status } = await service.request('GET', `/plants/${id}`);
        if (status !== 200 && status !== 503) wrong.push(`plant ${id} is answered ${status}`);
      }
    });
    const createdSome = async () => {
      const goal = acknowledged.length + 50;
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(goal), PATIENCE);
    };
    try {
      // The second round leads back to the first host.
      for (let round = 1; round <= 2; round += 1) {
        await createdSome();
        primary.signal('SIGKILL');
        await standby.promote();
        await isServed(round);
        await createdSome();
        await primary.startAsCopyOf(standby);
        await standby.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
        await standby.query('SELECT pg_reload_conf()');
        await primary.query('SELECT pg_wal_replay_pause()');
        await createdSome();
        await primary.query('SELECT pg_wal_replay_resume()');
        [primary, standby] = [standby, primary];
      }
    } finally {
      end.abort();
      await Promise.all(clients);
    }
    expect(wrong).toEqual([]);
    const stored = new Set((await primary.plants()).map(({ id }) => Number(id)));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    const lines = service.log.map(({ msg }) => msg);
    expect(lines.filter((line) => line === 'another host is the primary now')).toHaveLength(2);
    expect(JSON.stringify(service.log)).not.toContain(new URL(primary.url).password);
  });

  it('stays with the new primary when the old one, which was frozen, resumes', async () => {
    const { primary: frozen, standby: promoted } = postgres;
    service = await start(frozen, promoted);
    await isServed(500);
    frozen.signal('SIGSTOP');
    try {
      await promoted.promote();
      await promoted.query("ALTER SYSTEM SET synchronous_standby_names = ''");
      await promoted.query('SELECT pg_reload_conf()');
      await isServed(501);
    } finally {
      frozen.signal('SIGCONT');
    }
    // New connections as well.
    await promoted.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
    );
    await isServed(502);
    expect((await service.request('GET', '/plants/501')).status).toBe(200);
    const ids = async (server: ReplicatedServer) => (await server.plants()).map(({ id }) => id);
    expect(await ids(promoted)).toEqual(expect.arrayContaining([501n, 502n]));
    expect(await ids(frozen)).not.toContain(502n);
  });

  it('is not served by the old primary, which nobody has shut down, when the new one fails', async () => {
    const { primary: old, standby: promoted } = postgres;
    service = await start(old, promoted);
    // Both take writes, and the old one is named first.
    await isServed(502);
    promoted.signal('SIGSTOP');
    try {
      const end = performance.now() + 12_000;
      const created = new Set<number>();
      const found = new Set<number>();
      while (performance.now() < end) {
        created.add((await service.post({ id: 503, name: 'Plant 503' })).status);
        found.add((await service.request('GET', '/plants/501')).status);
      }
      expect([...created]).toEqual([503]);
      expect([...found]).toEqual([503]);
    } finally {
      promoted.signal('SIGCONT');
    }
    await isServed(504);
    expect((await service.request('GET', '/plants/501')).status).toBe(200);
    expect(service.log.filter(({ msg }) => msg === 'a replaced primary is still running')).toEqual([
      expect.objectContaining({
        level: 50,
        server: new URL(old.url).host,
        reason: expect.stringMatching(/^the server is on timeline \d, but timeline \d exists$/),
      }),
    ]);
  });
});
