import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, vi } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { it as base } from '../support/deployment.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import type { Replica } from '../support/replica.js';

/** Three quarters of the memory limit of a pod (deploy/kubernetes/base/deployment.yaml). */
const LIMIT = 384 * 2 ** 20;

/** What Node.js allows the heap in such a pod, in megabytes. */
const HEAP = 256;

const it = base.extend({ environment: { NODE_OPTIONS: `--max-old-space-size=${HEAP}` } });

let postgres: OwnPostgres;
let replica: Replica;

it.beforeEach(({ postgres: server, replica: one }) => {
  [postgres, replica] = [server, one];
});

/** Stores plants whose names have the number of characters. */
async function fill(plants: number, character: string, characters: number): Promise<void> {
  const operator = await postgres.connect();
  await operator.query(
    'INSERT INTO plants SELECT n, repeat($2, $3) FROM generate_series(1, $1::int) AS n',
    [plants, character, characters],
  );
  await operator.end();
}

function get(path: string): Promise<Response> {
  return replica.send('GET', path);
}

describe('large answers', () => {
  it('of characters with long escapes fit into the memory of a pod, for twenty readers at once', async () => {
    // As long as a body may be: each character is \u0001 in JSON.
    await fill(26, '\u0001', 166_000);
    const readers = Array.from({ length: 20 }, async () => {
      const ids: number[] = [];
      for (let next: string | undefined = '/plants?limit=1000'; next !== undefined;) {
        const answer: Response = await get(next);
        const text = await answer.text();
        if (answer.status === 503) {
          await sleep(1_000 * Number(answer.headers.get('retry-after')));
          continue;
        }
        expect(answer.status).toBe(200);
        expect(Buffer.byteLength(text)).toBeLessThan(5.2 * 2 ** 20);
        ids.push(...(JSON.parse(text) as { id: number }[]).map(({ id }) => id));
        next = /^<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      return ids;
    });
    const all = Array.from({ length: 26 }, (_, index) => index + 1);
    for (const ids of await Promise.all(readers)) expect(ids).toEqual(all);
    expect(replica.peakMemory()).toBeLessThan(LIMIT);
    expect(replica.service.stderr).toBe('');
  });

  it('of look-ups fit into the memory of a pod, for two hundred readers at once', async () => {
    await fill(26, '\u0001', 166_000);
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const answer = await get(`/plants/${1 + (index % 26)}`);
        const text = await answer.text();
        if (answer.status === 200)
          expect(text).toHaveLength(166_000 * 6 + `{"id":${1 + (index % 26)},"name":""}`.length);
        return answer.status;
      }),
    );
    expect(statuses).toContain(200);
    expect([200, 503]).toEqual(expect.arrayContaining([...new Set(statuses)]));
    expect(replica.peakMemory()).toBeLessThan(LIMIT);
    expect((await get('/plants/1')).status).toBe(200);
    expect(replica.service.stderr).toBe('');
  });

  it('that nobody reads fit into the memory of a pod, and do not keep others waiting', async () => {
    await fill(100, 'a', 400_000);
    const request = `GET /plants?limit=1000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    const sockets = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const socket = await RawSocket.open(replica.port);
        socket.stopReading();
        socket.send(request);
        return socket;
      }),
    );
    const large = async () => {
      const answer = await get('/plants?limit=1000');
      await answer.arrayBuffer();
      return answer.status;
    };
    await vi.waitFor(async () => expect(await large()).toBe(503), PATIENCE);
    // What is short has room.
    for (let n = 0; n < 100; n += 1) expect((await get('/plants/404')).status).toBe(404);
    expect((await get('/plants?after=100')).status).toBe(200);
    await vi.waitFor(async () => expect(await large()).toBe(200), PATIENCE);
    expect(replica.peakMemory()).toBeLessThan(LIMIT);
    expect(replica.service.stderr).toBe('');
    for (const socket of sockets) socket.destroy();
  });
});
