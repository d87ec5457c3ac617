import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { Crowd, TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { malformedRequests, statusesFor } from '../support/malformed.js';
import { isServed } from '../support/reckoning.js';

/** A million takes some twenty minutes: `MALFORMED_REQUESTS=1000000 npm run test:faults -- malformed`. */
const COUNT = Number(process.env['MALFORMED_REQUESTS'] ?? 100_000);

/** Requests that are generated at once. */
const PORTION = 5_000;

/** Connections at a time. */
const CONNECTIONS = 32;

/** Tolerated growth of memory, in bytes. */
const TOLERANCE = 16 * 2 ** 20;

it(
  `answers ${COUNT} malformed requests as such, and is as it was`,
  async ({ replica }) => {
    const seed = randomInt(2 ** 31);
    const seen = new Map<number, number>();
    const memory: number[] = [];
    const failures: string[] = [];
    for (let sent = 0; sent < COUNT; sent += PORTION) {
      const requests = malformedRequests(TOKEN, PORTION, seed + sent);
      // A shared queue of all workers.
      const queue = requests.entries();
      const sending = Array.from({ length: CONNECTIONS }, async () => {
        for (const [i, request] of queue) {
          if (i % 10 === 0) leave(replica.port, request);
          const statuses = await statusesFor(replica.port, request);
          const faults = statuses.filter((status) => status >= 500);
          // For the reproduction of the failure.
          if (faults.length > 0) failures.push(`${faults.join()}: ${request.toString('base64')}`);
          for (const status of statuses) seen.set(status, (seen.get(status) ?? 0) + 1);
        }
      });
      await Promise.all(sending);
      const metrics = await replica.metrics();
      memory.push(Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]));
    }

    expect(failures).toEqual([]);
    expect(replica.service.running).toBe(true);
    expect(replica.service.stderr).toBe('');
    // The requests were malformed in many ways, and some were valid.
    expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 404, 405, 415]));
    // The first half warms up.
    const [, , before, after] = quarters(memory).map((quarter) => Math.min(...quarter));
    expect(after! - before!).toBeLessThan(TOLERANCE);
    const crowd = new Crowd({ urls: [replica.url] });
    await crowd.served(300);
    expect((await crowd.stop()).every(isServed)).toBe(true);
  },
  // Much longer than it takes.
  60_000 + COUNT * 5,
);

function quarters(values: readonly number[]): number[][] {
  const size = Math.ceil(values.length / 4);
  return [0, 1, 2, 3].map((i) => values.slice(i * size, (i + 1) * size));
}

/** Disconnects after sending, like a scanner. */
function leave(port: number, request: Uint8Array): void {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.write(request, () => socket.resetAndDestroy());
}
