import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { nothingRuns } from '../support/migrated-database.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Before a connection without traffic is closed, in milliseconds. A busy machine must reach the pause of a test before. */
const SOCKET_IDLE = 20_000;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ limits: { socketIdle: SOCKET_IDLE } });
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

async function fill(count: number, tagLength: number): Promise<void> {
  await service.database.query(
    `INSERT INTO plants SELECT n, 'Plant ' || n, repeat('x', ${tagLength}) FROM generate_series(1, ${count}) AS n`,
  );
}

/** Fills the store with 40 MB, more than the buffers of a connection hold. */
async function fillMuch(): Promise<number> {
  const count = 10_000;
  await fill(count, 4_000);
  return count;
}

async function openExport(): Promise<RawSocket> {
  const socket = await RawSocket.open(service.port);
  socket.send(`GET /plants/export HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  return socket;
}

describe('POST /plants/import', () => {
  it('takes no lines from a client that does not read the answer, and cuts it off', async () => {
    const socket = await RawSocket.open(service.port);
    socket.stopReading();
    socket.send(
      `POST /plants/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const lines = 'x\n'.repeat(10_000);
    const refused = Buffer.from(`${lines.length.toString(16)}\r\n${lines}\r\n`);
    const much = 2_000 * refused.length;
    expect(await socket.flood(much, refused)).toBeLessThan(much);
    await socket.end();
    socket.destroy();
  });
});

describe('GET /plants', () => {
  it('has no more memory for readers that stop than for others, who are told so', async () => {
    await fill(1_000, 4_000);
    const page = `GET /plants?limit=1000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    const sockets: RawSocket[] = [];
    const readers = Array.from({ length: 10 });
    await vi.waitFor(async () => {
      // More come each time: those that have not read for 10 s lose their connections while there is no room for others.
      const more = await Promise.all(readers.map(() => RawSocket.open(service.port)));
      for (const socket of more) {
        socket.stopReading();
        // The kernel takes the first of them.
        socket.send(page.repeat(4));
      }
      sockets.push(...more);
      const { status, text } = await service.request('GET', '/plants?limit=1000');
      expect([status, text]).toEqual([503, expect.stringContaining('50309')]);
    }, PATIENCE);
    const unread = sockets.reduce((sum, { peer }) => sum + (peer?.writableLength ?? 0), 0);
    expect(unread).toBeLessThan(65 * 1024 * 1024);
    // On a busy machine, the lists of the readers are still being read.
    await vi.waitFor(async () => {
      expect((await service.request('GET', '/plants?limit=1')).status).toBe(200);
    }, PATIENCE);
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(async () => {
      expect((await service.request('GET', '/plants?limit=1000')).status).toBe(200);
    }, PATIENCE);
  });
});

describe('GET /plants/export', () => {
  it('has the plants that stay, each once, while others come, change and go', async () => {
    const stays = (id: number) => id % 3 === 0;
    // More than the buffers of a connection hold.
    await fill(3_000, 5_000);
    const socket = await openExport();
    socket.stopReading();
    await haveBegun([socket]);
    await nothingRuns(service.database);
    await service.database.query('DELETE FROM plants WHERE id % 3 = 1');
    await service.database.query("UPDATE plants SET name = 'Rose' WHERE id % 3 = 2");
    await service.database.query('INSERT INTO plants SELECT -n, $1 FROM generate_series(1, 9) n', [
      'a',
    ]);
    socket.startReading();
    // Too long for the message of `toContain`.
    await vi.waitFor(() => expect(socket.rest.includes('\r\n0\r\n\r\n')).toBe(true), PATIENCE);
    const ids = [...socket.rest.matchAll(/"id":(-?\d+)/g)].map(([, id]) => Number(id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id > 0 && stays(id)).length).toBe(1_000);
    // It had begun before, and was not over.
    expect(ids).toContain(1);
    expect(ids).not.toContain(2_998);
    expect(socket.rest).toContain('"name":"Rose"');
    socket.destroy();
  });

  it('ends in the middle of a body that cannot be completed', async () => {
    const count = await fillMuch();
    const socket = await openExport();
    socket.stopReading();
    await haveBegun([socket]);
    await nothingRuns(service.database);
    await service.database.query('ALTER TABLE plants RENAME TO moved');
    try {
      socket.startReading();
      await socket.end();
      expect(socket.rest).not.toMatch(/0\r\n\r\n$/);
      expect(socket.rest).not.toContain(`"id":${count},`);
      await vi.waitFor(
        () =>
          expect(service.log).toContainEqual(
            expect.objectContaining({ msg: 'response interrupted', status: 500, error: 50000 }),
          ),
        PATIENCE,
      );
    } finally {
      await service.database.query('ALTER TABLE moved RENAME TO plants');
    }
  });

  it('holds no connection to the database for a reader that stops, and cuts it off', async () => {
    const count = await fillMuch();
    const sockets = await Promise.all(Array.from({ length: 32 }, () => openExport()));
    for (const socket of sockets) socket.stopReading();
    await haveBegun(sockets);
    // Readers that stop keep their place among the open exports, until they are cut off.
    expect(await service.request('GET', `/plants/export?after=${count}`)).toMatchObject({
      status: 429,
      text: expect.stringContaining('42902'),
    });
    await nothingRuns(service.database);
    expect((await service.request('GET', '/plants?limit=1')).status).toBe(200);
    await vi.waitFor(
      () => expect(sockets.map(({ peer }) => peer?.destroyed)).toEqual(sockets.map(() => true)),
      PATIENCE,
    );
    expect((await service.request('GET', `/plants/export?after=${count - 10}`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a shutdown', () => {
  it('breaks off an export, which the log tells apart from a client that left', async () => {
    const other = await startTestService();
    await other.database.query(
      "INSERT INTO plants SELECT n, 'a', repeat('x', 4000) FROM generate_series(1, 10000) AS n",
    );
    const socket = await RawSocket.open(other.port);
    socket.stopReading();
    socket.send(`GET /plants/export HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
    // The buffers of the connection are full.
    await vi.waitFor(() => expect(socket.peer?.writableLength).toBeGreaterThan(0), PATIENCE);
    await other.stop({ drain: 100, close: 5_000 });
    expect(other.log).toContainEqual(
      expect.objectContaining({ route: '/plants/export', msg: 'response interrupted' }),
    );
    socket.destroy();
  });
});

/** Waits until the service has sent something on each connection. */
async function haveBegun(sockets: readonly RawSocket[]): Promise<void> {
  const wait = ({ peer }: RawSocket) => (peer?.bytesWritten ?? 0) === 0;
  await vi.waitFor(() => expect(sockets.filter(wait)).toEqual([]), PATIENCE);
}
