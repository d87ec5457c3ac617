import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { expectFeedReckoning, Follower, Pager } from '../support/feed.js';
import type { FeedReader } from '../support/feed.js';
import { Importers } from '../support/importers.js';
import { OpenWriters, RECORDED_CREATE } from '../support/open-writers.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { Workspace } from '../support/process.js';
import { Replica } from '../support/replica.js';
import { Rivals } from '../support/rivals.js';

let workspace: Workspace;
let postgres: OwnPostgres;
let readers: FeedReader[];

beforeEach(async () => {
  readers = [];
  [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
});

afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await workspace.remove();
  await postgres.stop();
});

function startReplicas(databaseUrl: string): Promise<Replica[]> {
  return Promise.all([1, 2].map(() => Replica.start(workspace, { DATABASE_URL: databaseUrl })));
}

/** Two followers and two readers of pages, which begin on different replicas. */
function read(replicas: readonly Replica[]): FeedReader[] {
  const urls = replicas.map(({ url }) => url);
  return [urls, urls.toReversed()].flatMap((order) => [
    new Follower({ urls: order }),
    new Pager({ urls: order }),
  ]);
}

describe('readers of two replicas, while transactions are held open', () => {
  it('see each change once and in order, whatever is killed', async () => {
    const replicas = await startReplicas(postgres.url);
    readers = read(replicas);
    const urls = replicas.map(({ url }) => url);
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
        const replica = replicas[kill % 2]!;
        replica.service.kill('SIGKILL');
        await replica.service.exit();
        await replica.startAgain();
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

  it('see each change once and in order behind PgBouncer in transaction mode', async () => {
    const pgBouncer = await PgBouncer.start(workspace.folder, postgres.url);
    try {
      const replicas = await startReplicas(pgBouncer.url);
      readers = read(replicas);
      const rivals = new Rivals(replicas.map(({ url }) => url));
      const open = new OpenWriters(() => postgres.url);
      await rivals.served(1_500);
      await pgBouncer.kill();
      await pgBouncer.startAgain();
      await rivals.served(1_500);
      await open.stop();
      await rivals.stop();
      await expectFeedReckoning(postgres.url, readers);
    } finally {
      await pgBouncer.kill();
    }
  });
});

describe('a crash of PostgreSQL', () => {
  it('gives no position twice that a reader has seen, even if the change with this position was rolled back', async () => {
    // What is not committed does not reach the disk by itself.
    await postgres.stop();
    postgres = await OwnPostgres.start({ wal_writer_delay: '10s', checkpoint_timeout: '1h' });
    const [replica] = [await Replica.start(workspace, { DATABASE_URL: postgres.url })];
    const client = await postgres.connect();
    // PostgreSQL writes a sequence 32 numbers ahead.
    for (let id = 1; id <= 40; id += 1) {
      await client.query('BEGIN');
      await client.query(RECORDED_CREATE, [id]);
      await client.query('ROLLBACK');
    }
    const latest = await get(replica, '/changes/latest');
    postgres.signal('SIGKILL');
    await postgres.startAgain();
    await created(replica, 1);
    const { position } = latest as { position: number };
    expect(await get(replica, `/changes?after=${position}`)).toMatchObject([
      { kind: 'created', id: 1 },
    ]);
  });

  it('lets a transaction that is held open hold back no writer afterwards', async () => {
    const replica = await Replica.start(workspace, { DATABASE_URL: postgres.url });
    await created(replica, 1);
    // At rest, the service does not ask.
    await postgres.restart();
    const client = await postgres.connect();
    await client.query('BEGIN');
    await client.query(RECORDED_CREATE, [2]);
    const begin = performance.now();
    await created(replica, 3);
    expect(performance.now() - begin).toBeLessThan(3_000);
    expect(await get(replica, '/changes')).toMatchObject([{ id: 1 }]);
    await client.query('COMMIT');
    await client.end();
    expect(await get(replica, '/changes')).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });
});

async function get({ url }: Replica, path: string): Promise<unknown> {
  const response = await fetch(url.replace(/\/plants$/, path), {
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  return response.json();
}

/** Creates a plant, as soon as it can be created. */
async function created({ url }: Replica, id: number): Promise<void> {
  for (;;) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id, name: 'created' }),
    });
    await response.text();
    if (response.status === 200) return;
    expect(response.status).toBe(503);
    await sleep(50);
  }
}
