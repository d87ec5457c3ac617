import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { it, itBehindPgBouncer, readersOf } from '../support/deployment.js';
import { expectFeedReckoning, Follower, Pager, recordsIn, untilRead } from '../support/feed.js';
import { OpenWriters, RECORDED_CREATE } from '../support/open-writers.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import type { Replica } from '../support/replica.js';
import { Rivals } from '../support/rivals.js';

describe('readers of two replicas, while transactions are held open', () => {
  it('see each change once and in order, whatever is killed', async ({
    postgres,
    replicas,
    readers,
  }) => {
    const urls = replicas.map(({ url }) => url);
    readers.push(...readersOf(urls));
    const [rivals, importers] = [new Rivals(urls), new Importers(urls)];
    const open = new OpenWriters(() => postgres.url);
    for (let kill = 1; kill <= 6; kill += 1) {
      await rivals.served(400);
      // At a random moment, not always right after answers.
      await sleep(kill * 3);
      if (kill % 3 === 0) {
        process.kill(postgres.pid, 'SIGKILL');
        await postgres.startAgain();
      } else {
        await replicas[kill % 2]!.kill();
        await replicas[kill % 2]!.startAgain();
      }
    }
    await rivals.served(400);
    await Promise.all([importers.stop(), open.stop()]);
    await rivals.stop();
    await expectFeedReckoning(postgres.url, readers);
    // What the test is about has happened.
    expect(Math.min(open.committed, open.rolledBack, importers.imported)).toBeGreaterThan(5);
    for (const { breaks } of readers) expect(breaks).toBeGreaterThan(0);
  });

  itBehindPgBouncer(
    'see each change once and in order behind PgBouncer in transaction mode',
    async ({ postgres, pgBouncer, replicas, readers }) => {
      const urls = replicas.map(({ url }) => url);
      readers.push(...readersOf(urls));
      const rivals = new Rivals(urls);
      const open = new OpenWriters(() => postgres.url);
      await rivals.served(800);
      await pgBouncer.kill();
      await pgBouncer.startAgain();
      await rivals.served(800);
      await open.stop();
      await rivals.stop();
      await expectFeedReckoning(postgres.url, readers);
    },
  );
});

describe('a crash of PostgreSQL', () => {
  // What is not committed does not reach the disk by itself.
  const itWithSlowWal = it.extend({
    settings: { wal_writer_delay: '10s', checkpoint_timeout: '1h' },
  });

  itWithSlowWal(
    'gives no position twice that a reader has seen, even if the change with this position was rolled back',
    async ({ postgres, replica }) => {
      const client = await postgres.connect();
      // PostgreSQL writes a sequence 32 numbers ahead.
      for (let id = 1; id <= 40; id += 1) {
        await client.query('BEGIN');
        await client.query(RECORDED_CREATE, [id]);
        await client.query('ROLLBACK');
      }
      const latest = await replica.read('/changes/latest');
      postgres.signal('SIGKILL');
      await postgres.startAgain();
      await replica.create(1);
      const { position } = latest as { position: number };
      expect(await replica.read(`/changes?after=${position}`)).toMatchObject([
        { kind: 'created', id: 1 },
      ]);
    },
  );

  itWithSlowWal(
    'that ends no server but loses what readers have seen, hides no change from them',
    async ({ postgres, replica, readers }) => {
      const client = await postgres.connect();
      client.on('error', () => {});
      const [backend] = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))
        .rows;
      await client.query('SET synchronous_commit = off');
      for (let id = 1; id <= 40; id += 1) await client.query(RECORDED_CREATE, [id]);
      const urls = [replica.url];
      readers.push(new Follower({ urls }), new Pager({ urls }));
      await untilRead(readers, (await recordsIn(postgres.url)).at(-1)!.position);
      const [started, ids] = [
        await postgres.query('SELECT pg_postmaster_start_time()'),
        await postgres.plants(),
      ];
      expect(ids).toHaveLength(40);
      process.kill(backend!.pid, 'SIGKILL');
      await expect(client.query('SELECT 1')).rejects.toThrow(/terminat|not queryable|ECONNRESET/);
      await postgres.accepting();
      expect(await postgres.query('SELECT pg_postmaster_start_time()')).toEqual(started);
      expect(await postgres.plants()).toEqual([]);
      for (let id = 101; id <= 160; id += 1) await replica.create(id);
      const stored = await recordsIn(postgres.url);
      expect(stored).toHaveLength(60);
      await untilRead(readers, stored.at(-1)!.position);
      for (const { seen, refusals } of readers) {
        expect(refusals).toEqual([]);
        const lines = new Set(seen.map(({ line }) => line));
        expect(stored.filter(({ line }) => !lines.has(line))).toEqual([]);
      }
    },
  );

  it('lets a transaction that is held open hold back no writer afterwards', async ({
    postgres,
    replica,
  }) => {
    await replica.create(1);
    // At rest, the service does not ask.
    await postgres.restart();
    const client = await postgres.connect();
    await client.query('BEGIN');
    await client.query(RECORDED_CREATE, [2]);
    const begin = performance.now();
    await replica.create(3);
    expect(performance.now() - begin).toBeLessThan(3_000);
    expect(await replica.read('/changes')).toMatchObject([{ id: 1 }]);
    await client.query('COMMIT');
    await client.end();
    expect(await replica.read('/changes')).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });
});

const itWithPrepared = it.extend({ settings: { max_prepared_transactions: '5' } });

describe.each(['restart', 'crash'])('a prepared transaction that outlives a %s', (kind) => {
  /** Prepares a change, and replaces the server by one that was started later. */
  async function outlive(postgres: OwnPostgres, [text, ...values]: readonly string[]) {
    const client = await postgres.connect();
    await client.query('BEGIN');
    await client.query(text!, values);
    await client.query("PREPARE TRANSACTION 'change'");
    await client.end();
    if (kind === 'restart') {
      await postgres.restart();
    } else {
      postgres.signal('SIGKILL');
      await postgres.startAgain();
    }
  }

  const latest = async (replica: Replica) =>
    ((await replica.read('/changes/latest')) as { position: number }).position;

  itWithPrepared(
    'is waited for by readers, also by those who come later',
    async ({ postgres, replica }) => {
      await replica.create(1);
      const before = await latest(replica);
      await outlive(postgres, [RECORDED_CREATE, '2']);
      for (const id of [3, 4]) await replica.create(id);
      const copied = await latest(replica);
      expect(copied).toBe(before);
      expect(await replica.read(`/changes?after=${copied}`)).toEqual([]);
      expect(await replica.read('/changes')).toMatchObject([{ id: 1 }]);
      await postgres.query("COMMIT PREPARED 'change'");
      expect(await replica.read(`/changes?after=${copied}`)).toMatchObject([
        { id: 2 },
        { id: 3 },
        { id: 4 },
      ]);
    },
  );

  itWithPrepared(
    'is told to readers who have copied before its commit, if it has no record',
    async ({ postgres, replica }) => {
      await replica.create(1);
      await outlive(postgres, ["UPDATE plants SET name = 'changed'"]);
      await replica.create(3);
      const copied = await latest(replica);
      await replica.create(4);
      await postgres.query("COMMIT PREPARED 'change'");
      expect(await replica.read(`/changes?after=${copied}`)).toMatchObject({ error: 41000 });
      expect(await replica.read(`/changes?after=${await latest(replica)}`)).toEqual([]);
    },
  );

  itWithPrepared('holds nobody back when it is rolled back', async ({ postgres, replica }) => {
    await replica.create(1);
    await outlive(postgres, [RECORDED_CREATE, '2']);
    await replica.create(3);
    await postgres.query("ROLLBACK PREPARED 'change'");
    expect(await replica.read('/changes')).toMatchObject([{ id: 1 }, { id: 3 }]);
  });
});

/** Clients that send one file after the other, until the replicas are killed and again. */
class Importers {
  /** Files that were answered whole. */
  imported = 0;
  private next = 1_000_000;
  private ended = false;
  private readonly clients: Promise<unknown>;

  /** @param urls of `/plants` of each replica */
  constructor(urls: readonly string[]) {
    this.clients = Promise.all(urls.map((url) => this.run(url)));
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.clients;
  }

  private async run(url: string): Promise<void> {
    while (!this.ended) {
      const lines = Array.from({ length: 200 }, () => `{"id":${(this.next += 1)},"name":"i"}\n`);
      try {
        const response = await fetch(`${url}/import`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/x-ndjson' },
          body: lines.join(''),
          signal: AbortSignal.timeout(15_000),
        });
        await response.text();
        this.imported += 1;
      } catch {
        // The replica was killed.
      }
      await sleep(50);
    }
  }
}
