import { describe, expect, vi } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { itOnCluster, itOnSynchronousCluster } from '../support/deployment.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { contradictions, isAcknowledged } from '../support/reckoning.js';
import type { Attempt } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';

/** Timeout on a busy machine, in milliseconds. */
const PATIENCE = { timeout: 60_000, interval: 20 };

const informative = { environment: { LOG_LEVEL: 'info' } };
const it = itOnCluster.extend(informative);
const itSynchronous = itOnSynchronousCluster.extend(informative);

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly retryAfter: string | undefined;
}

async function send(replica: Replica, method: string, path: string, body?: string): Promise<Reply> {
  const response = await replica.send(method, `/plants${path}`, body);
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    retryAfter: response.headers.get('retry-after') ?? undefined,
  };
}

function create(replica: Replica, id: number | bigint): Promise<Reply> {
  return send(replica, 'POST', '', `{"id":${id},"name":"Plant ${id}"}`);
}

function get(replica: Replica, id: number | bigint): Promise<Reply> {
  return send(replica, 'GET', `/${id}`);
}

async function serves(replica: Replica): Promise<void> {
  await vi.waitFor(async () => expect((await create(replica, 0)).status).toBe(200), PATIENCE);
}

describe('an address that leads to a standby', () => {
  it.for(['directly', 'by way of PgBouncer'])(
    'returns no outdated answer of the standby, %s',
    async (way, { cluster: { primary, standby }, address, workspace, start }) => {
      const pgBouncer =
        way === 'directly' ? undefined : await PgBouncer.start(workspace.folder, address.url);
      const replica = await start(pgBouncer && { DATABASE_URL: pgBouncer.url });
      try {
        await standby.query('SELECT pg_wal_replay_pause()');
        expect((await create(replica, 1)).status).toBe(200);
        expect((await get(replica, 1)).status).toBe(200);

        address.leadTo(standby.url);
        const replies: Reply[] = [];
        for (let round = 1; round <= 30; round += 1) {
          replies.push(await get(replica, 1), await create(replica, 1));
          // More than the connections of the pool.
          replies.push(...(await Promise.all(Array.from({ length: 20 }, () => get(replica, 1)))));
        }
        for (const { status, body } of replies)
          expect([status, body['error']]).toEqual([503, 50300]);

        address.leadTo(primary.url);
        await serves(replica);
        expect((await get(replica, 1)).body).toEqual({ id: 1, name: 'Plant 1' });
      } finally {
        await pgBouncer?.kill();
      }
    },
  );

  // This test and the next one wait for half a minute and for a minute.
  it.concurrent(
    'fails the start, with the reason in one line and on /health/ready',
    async ({ cluster, workspace }) => {
      const service = workspace.start({
        AUTH_TOKEN: TOKEN,
        DATABASE_URL: cluster.standby.url,
        LOG_LEVEL: 'info',
      });
      const { management } = await service.logged('starting');
      await vi.waitFor(async () => {
        const response = await fetch(`http://${String(management)}/health/ready`);
        expect([response.status, await response.json()]).toEqual([
          503,
          {
            status: 'unavailable',
            reason: expect.stringMatching(
              /^waiting for the database at 127.0.0.1:\d+: the server is a standby$/,
            ),
          },
        ]);
      }, PATIENCE);
      expect(await service.exit(60_000)).toEqual({ code: 1, signal: null });
      expect(service.stderr).toMatch(
        /^plant-store: DATABASE_URL: 127.0.0.1:\d+ is a standby and was not promoted within 30 s: set the address of the primary\n$/,
      );
    },
  );

  it.concurrent(
    'is logged in one line and, after the time of a failover, shown on /health/ready',
    async ({ cluster, address, replica }) => {
      await serves(replica);
      address.leadTo(cluster.standby.url);
      await vi.waitFor(async () => expect((await get(replica, 0)).status).toBe(503), PATIENCE);
      const ready = async () => {
        const response = await fetch(`${replica.managementUrl}/health/ready`);
        return { status: response.status, body: await response.json() };
      };
      expect((await ready()).status).toBe(200);
      await vi.waitFor(
        async () =>
          expect(await ready()).toEqual({
            status: 503,
            body: { status: 'unavailable', reason: 'the database is a standby' },
          }),
        { ...PATIENCE, timeout: 90_000 },
      );
      const told = replica.service.log.filter(({ msg }) => msg === 'the database is unavailable');
      expect(told).toEqual([
        expect.objectContaining({ reason: expect.stringContaining('is a standby') }),
      ]);
      address.leadTo(cluster.primary.url);
      await vi.waitFor(async () => expect((await ready()).status).toBe(200), PATIENCE);
      await serves(replica);
      await replica.service.logged('the database is available again');
    },
  );
});

describe('roles that are swapped under load', () => {
  itSynchronous(
    'lose no plant, and each plant can be read right after its 200',
    async ({ cluster, address, replica }) => {
      let { primary, standby } = cluster;
      const attempts: Attempt[] = [];
      const wrong: string[] = [];
      const end = new AbortController();

      let next = 1n;
      const clients = Array.from({ length: 8 }, async () => {
        while (!end.signal.aborted) {
          const id = next++;
          const sentAt = performance.now();
          const created = await create(replica, id);
          const outcome = { kind: 'answered', ...created } as const;
          const took = performance.now() - sentAt;
          const plant = { id, name: `Plant ${id}`, tag: null };
          attempts.push({ plant, valid: true, sentAt, took, outcome });
          if (created.status !== 200) continue;
          const read = await get(replica, id);
          if (read.status !== 200 && read.status !== 503) wrong.push(`${id}: ${read.status}`);
        }
      });
      const created = async (count: number) => {
        const goal = attempts.length + count;
        await vi.waitFor(() => {
          expect(attempts.length).toBeGreaterThan(goal);
          expect(isAcknowledged(attempts.at(-1)!)).toBe(true);
        }, PATIENCE);
      };
      try {
        for (let round = 1; round <= 3; round += 1) {
          await created(300);
          // Without a standby, no commit is confirmed, so the old primary loses no acknowledged plant.
          await primary.stop();
          await standby.promote();
          await standby.query("ALTER SYSTEM SET synchronous_standby_names = ''");
          await primary.startAsStandbyOf(standby);
          // For a moment, the address still leads to the old primary, which is a standby now.
          await primary.query('SELECT pg_wal_replay_pause()');
          await vi.waitFor(async () => expect((await get(replica, 1)).status).toBe(503), PATIENCE);
          await primary.query('SELECT pg_wal_replay_resume()');
          address.leadTo(standby.url);
          [primary, standby] = [standby, primary];
          await serves(replica);
        }
        await created(300);
      } finally {
        end.abort();
        await Promise.all(clients);
      }
      expect(wrong).toEqual([]);
      const stored = (await primary.plants()).filter(({ id }) => id !== 0n);
      expect(contradictions(attempts, stored)).toEqual([]);
    },
  );
});

describe('a create whose standby is unavailable', () => {
  itSynchronous(
    'is acknowledged, like its replay, only when the standby has it',
    async ({ cluster: { primary, standby }, address, replica }) => {
      await serves(replica);

      standby.signal('SIGSTOP');
      const lost = create(replica, 1);
      await vi.waitFor(async () => {
        const ended = await primary.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'plant-store' AND wait_event = 'SyncRep'`,
        );
        expect(ended).toHaveLength(1);
      }, PATIENCE);
      expect((await lost).status).toBe(503);
      // The row is committed only on the primary.
      expect(await primary.query('SELECT id FROM plants WHERE id = 1')).toHaveLength(1);
      expect((await create(replica, 1)).status).toBe(503);
      expect((await create(replica, 1)).status).toBe(503);

      standby.signal('SIGCONT');
      await vi.waitFor(async () => expect((await create(replica, 1)).status).toBe(200), PATIENCE);
      primary.signal('SIGKILL');
      await standby.promote();
      address.leadTo(standby.url);
      await vi.waitFor(async () => expect((await get(replica, 1)).status).toBe(200), PATIENCE);
    },
  );
});
