import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import type { EventSourceClient } from '../../packages/framework/test/support/event-source.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { issue, tokenCommand } from '../support/issued-tokens.js';
import { PATIENCE, processTimeOf } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { PRUNE_ALL } from '../support/prune.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

let service: TestService;
const streams: EventSourceClient[] = [];

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(async () => {
  // The service keeps recent changes in memory for a moment after the last follower has left: what is pruned, it no longer sends.
  await service.database.query(PRUNE_ALL);
  await service.database.empty();
});

afterAll(async () => {
  for (const stream of streams) stream.close();
  await service.stop();
});

async function following(query = '', headers = {}): Promise<EventSourceClient> {
  const url = `${service.url}/changes${query}`;
  const stream = await followEvents(url, { Authorization: `Bearer ${TOKEN}`, ...headers });
  streams.push(stream);
  return stream;
}

async function latest(): Promise<number> {
  return Number((await service.request('GET', '/changes/latest')).json['position']);
}

async function metrics(): Promise<string> {
  return (await fetch(`${service.managementUrl}/metrics`)).text();
}

const haveFollowers = (count: number) =>
  vi.waitFor(async () => {
    expect(await metrics()).toContain(`plant_store_change_followers{resource="plants"} ${count}`);
  }, PATIENCE);

/** The command that issues a token, without its scope. */
const CREATE = ['create', '--name', 'follower', '--scope'];

describe('a follower', () => {
  it('receives what is stored, and then what is new', async () => {
    await service.post({ id: 1, name: 'a' });
    const stream = await following();
    expect(stream.response.headers.get('Content-Type')).toBe('text/event-stream');
    const [first] = await stream.take(1);
    await service.post({ id: 2, name: 'b' });
    const [second] = await stream.take(1);
    for (const [event, id] of [
      [first!, 1],
      [second!, 2],
    ] as const) {
      expect(event.data).toMatchObject({ kind: 'created', plant: { id } });
      expect(event.id).toBe(String(event.data['position']));
    }
    stream.close();
  });

  it('comes back where it was', async () => {
    const begin = await latest();
    for (const id of [1, 2]) await service.post({ id, name: 'a' });
    const stream = await following();
    const [{ id } = { id: '' }] = await stream.take(1);
    stream.close();
    const again = await following(`?after=${begin}`, { 'Last-Event-ID': id });
    expect((await again.take(1))[0]!.data['id']).toBe(2);
    again.close();
    const anew = await following(`?after=${begin}`, { 'Last-Event-ID': '' });
    expect((await anew.take(1))[0]!.data['id']).toBe(1);
    anew.close();
  });

  it('receives only changes of the plant that it has asked for', async () => {
    const stream = await following('?plant=2');
    for (const id of [1, 2, 3]) await service.post({ id, name: 'a' });
    await service.request('PATCH', '/plants/2', {
      body: '{"tag":"b"}',
      headers: { 'Content-Type': 'application/json' },
    });
    const events = await stream.take(2);
    expect(events.map(({ data }) => data)).toMatchObject([
      { kind: 'created', id: 2 },
      { kind: 'replaced', id: 2 },
    ]);
    stream.close();
  });

  it('is refused a position that is gone or that nobody was given, like a reader of pages', async () => {
    const begin = await latest();
    await service.post({ id: 2, name: 'a' });
    const unknown = { 'Last-Event-ID': String((await latest()) + 1) };
    expect((await following('', unknown)).response.status).toBe(400);
    expect((await following('', { 'Last-Event-ID': 'x' })).response.status).toBe(400);
    await service.post({ id: 1, name: 'a' });
    await service.database.query(PRUNE_ALL);
    expect((await following(`?after=${begin}`)).response.status).toBe(410);
  });

  it('is counted for as long as it is connected', async () => {
    for (const stream of streams) stream.close();
    await haveFollowers(0);
    await Promise.all(Array.from({ length: 50 }, () => following()));
    await haveFollowers(50);
    await service.post({ id: 1, name: 'a' });
    for (const stream of streams.slice(-50)) {
      expect((await stream.take(1))[0]!.data['id']).toBe(1);
      stream.close();
    }
    await haveFollowers(0);
  });

  it('that was behind, receives what is in the table and then what is new, in order', async () => {
    const rows = `INSERT INTO plant_changes (kind, principal, request_id, id)
      SELECT 'removed', 'jwt:a', 'r', n FROM generate_series(1, 1000) AS n`;
    await service.database.query(rows);
    const ahead = await following(`?after=${await latest()}`);
    const behind = await following();
    await service.post({ id: 1001, name: 'new' });
    const events = await behind.take(1001);
    expect(events.map(({ data }) => data['id'])).toEqual(
      Array.from({ length: 1001 }, (_, n) => n + 1),
    );
    expect((await ahead.take(1))[0]!.data['id']).toBe(1001);
  });

  it('receives a record of a long name', async () => {
    const stream = await following();
    await service.post({ id: 1, name: 'x'.repeat(1_000_000) });
    expect((await stream.take(1))[0]!.data).toMatchObject({ id: 1, plant: { id: 1 } });
  });

  it('that is behind what the service keeps in memory, receives everything', async () => {
    const [quick, behind] = [await following(), await following()];
    const ids = Array.from({ length: 7 }, (_, n) => n + 1);
    for (const id of ids) {
      await service.post({ id, name: 'x'.repeat(900_000) });
      expect((await quick.take(1))[0]!.data['id']).toBe(id);
    }
    const late = await following();
    for (const stream of [behind, late]) {
      expect((await stream.take(7)).map(({ data }) => data['id'])).toEqual(ids);
    }
    for (const stream of [quick, behind, late]) stream.close();
  });

  it('waits for a transaction that is open, which the metrics tell', async () => {
    const stream = await following();
    const client = new Client({ connectionString: service.database.url });
    await client.connect();
    await client.query('BEGIN; SELECT begin_plant_changes()');
    await service.post({ id: 1, name: 'a' });
    await vi.waitFor(async () => {
      const [, lag] = /^plant_store_change_lag_seconds\{.*\} (.*)$/m.exec(await metrics()) ?? [];
      expect(Number(lag)).toBeGreaterThan(1);
    }, PATIENCE);
    await client.query('ROLLBACK');
    await client.end();
    expect((await stream.take(1))[0]!.data['id']).toBe(1);
    stream.close();
  });

  it('receives nothing that the database has lost, and what is new', async () => {
    await service.post({ id: 1, name: 'a' });
    const after = await latest();
    const stream = await following(`?after=${after}`);
    await service.post({ id: 2, name: 'lost' });
    expect((await stream.take(1))[0]!.data['id']).toBe(2);
    // As after a restore: the table is another one.
    await service.database.query(
      "DELETE FROM plant_changes WHERE id = 2; SELECT setval('plant_changes_incarnation_seq', 1)",
    );
    expect(await latest()).toBe(after);
    const late = await following(`?after=${after}`);
    await service.post({ id: 3, name: 'new' });
    for (const one of [stream, late]) {
      expect((await one.take(1))[0]!.data['id']).toBe(3);
      one.close();
    }
  });

  it('breaks off when a server comes back that has changes which its reader has not got', async () => {
    await service.post({ id: 1, name: 'only on the first server' });
    await service.database.query("SELECT setval('plant_changes_incarnation_seq', 1)");
    const stream = await following(`?after=${await latest()}`);
    await service.post({ id: 2, name: 'on the second server' });
    const [event] = await stream.take(1);
    await service.database.query(
      "DELETE FROM plant_changes WHERE id = 2; SELECT setval('plant_changes_incarnation_seq', 2)",
    );
    // Undici reports a response that is broken off as an error.
    await expect(stream.next()).rejects.toThrow('terminated');
    expect((await service.request('GET', `/changes?after=${event!.id}`)).status).toBe(410);
  });

  it('waits while changes cannot be read, which the log tells once, and then receives them', async () => {
    const stream = await following();
    await service.database.query('ALTER FUNCTION plant_changes_horizon() RENAME TO elsewhere');
    const told = () => service.log.filter(({ msg }) => msg === 'changes cannot be followed');
    await vi.waitFor(() => expect(told()).toHaveLength(1), PATIENCE);
    await service.post({ id: 1, name: 'a' });
    // The service tries again after a second.
    await sleep(1_500);
    await service.database.query('ALTER FUNCTION elsewhere() RENAME TO plant_changes_horizon');
    expect((await stream.take(1))[0]!.data['id']).toBe(1);
    expect(told()).toHaveLength(1);
    stream.close();
  });

  it('loses its stream soon after its token is revoked', async () => {
    const token = await issue(service.database.url, ...CREATE, 'changes:read');
    const stream = await following('', { Authorization: `Bearer ${token}` });
    const other = await following();
    const end = stream.next();
    await tokenCommand(service.database.url, 'revoke', idOf(token));
    expect(await end).toBeUndefined();
    await service.post({ id: 1, name: 'a' });
    expect((await other.take(1))[0]!.data['id']).toBe(1);
  });

  it('needs the scope changes:read', async () => {
    const token = await issue(service.database.url, ...CREATE, 'plants:read');
    expect((await following('', { Authorization: `Bearer ${token}` })).response.status).toBe(403);
  });

  it('that only asks for the header fields, gets these', async () => {
    for (const stream of streams) stream.close();
    const socket = await RawSocket.open(service.port);
    socket.send(
      `HEAD /changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`,
    );
    await vi.waitFor(() => expect(socket.ended).toBe(true), PATIENCE);
    await haveFollowers(0);
    expect(socket.rest).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*text\/event-stream/);
  });
});

describe('a service that stops', () => {
  it('ends the streams of its followers, so that these can go elsewhere', async () => {
    const other = await startTestService();
    const stream = await followEvents(`${other.url}/changes`, { Authorization: `Bearer ${TOKEN}` });
    const end = stream.next();
    const stopped = other.stop();
    expect(await processTimeOf(end)).toBeLessThan(5_000);
    expect(await end).toBeUndefined();
    await stopped;
  });
});
