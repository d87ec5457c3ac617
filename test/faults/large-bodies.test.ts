import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import type { Replica } from '../support/replica.js';

const CLIENTS = 200;

/** Letters of two bytes each, in UTF-8 and in memory. */
const NAME = 'é'.repeat(499_000);
const REST = Buffer.from(`,"name":"${NAME}"}`);

/** Timeout of an answer on a busy machine, in milliseconds. */
const BOUND = 30_000;

/** Three quarters of the memory limit of a pod (deploy/kubernetes/base/deployment.yaml). */
const LIMIT = 384 * 2 ** 20;

let replica: Replica;

it.beforeEach(({ replica: one }) => {
  replica = one;
});

function begin(id: number, agent: Agent): ClientRequest {
  const start = `{"id":${id}`;
  const headers = {
    Authorization: `Bearer ${TOKEN}`,
    'Content-Type': 'application/json',
    'Content-Length': start.length + REST.length,
  };
  const request = httpRequest(replica.url, { agent, method: 'POST', headers });
  request.write(start);
  return request;
}

/** The number of an answer's error, and 0 for a plant that was created. */
async function create(id: number, agent: Agent): Promise<number> {
  const request = begin(id, agent);
  request.end(REST);
  const signal = AbortSignal.timeout(BOUND);
  const [response] = (await once(request, 'response', { signal })) as [IncomingMessage];
  const { error } = (await json(response)) as { error?: number };
  return error ?? 0;
}

describe('many clients with bodies of a megabyte', () => {
  it.for([
    ['and a database that takes them', undefined],
    ['and a table that is locked', 'BEGIN; LOCK TABLE plants'],
  ])(
    '%s get 200 or 503, and the service stays within its memory',
    async ([, statement], { postgres }) => {
      const operator = await postgres.connect();
      if (statement !== undefined) await operator.query(statement);
      const agent = new Agent({ keepAlive: true });
      const created: number[] = [];
      const errors = new Map<number, number>();
      let next = 0;
      let ended = false;
      const outcomes = () => [...errors.values()].reduce((sum, count) => sum + count, 0);
      const clients = Array.from({ length: CLIENTS }, async () => {
        while (!ended) {
          const id = (next += 1);
          const error = await create(id, agent);
          errors.set(error, (errors.get(error) ?? 0) + 1);
          if (error === 0) created.push(id);
          else await sleep(100);
          if (outcomes() >= 3 * CLIENTS) ended = true;
        }
      });
      await Promise.race([Promise.all(clients), sleep(10_000)]);
      await operator.query('ROLLBACK');
      await Promise.all(clients);
      const last = next + 1;
      await vi.waitFor(async () => expect(await create(last, agent)).toBe(0), PATIENCE);
      created.push(last);
      agent.destroy();

      if (statement === undefined) expect(errors.get(0)).toBeGreaterThan(0);
      // Not all bodies fitted into memory.
      expect(errors.get(50308)).toBeGreaterThan(0);
      const expected = new Set([0, 50300, 50301, 50304, 50305, 50308, 50310, 50311]);
      expect([...errors.keys()].filter((error) => !expected.has(error))).toEqual([]);
      const { rows } = await operator.query<{ id: string; same: boolean }>(
        'SELECT id, name = $1 AS same FROM plants',
        [NAME],
      );
      await operator.end();
      const stored = new Map(rows.map(({ id, same }) => [Number(id), same]));
      expect(created.filter((id) => stored.get(id) !== true)).toEqual([]);
      expect(replica.peakMemory()).toBeLessThan(LIMIT);
      expect(replica.service.stderr).toBe('');
    },
  );

  it('that disconnect during the body free its memory', async () => {
    const agent = new Agent({ keepAlive: true });
    const gone = Array.from({ length: CLIENTS }, async (_, id) => {
      const request = begin(id, agent);
      request.write(REST.subarray(0, -1));
      const [error] = (await once(request.setTimeout(1_000, leave), 'error')) as [Error];
      expect(error.message).toBe('gone');
      function leave() {
        request.destroy(new Error('gone'));
      }
    });
    await Promise.all(gone);
    await vi.waitFor(async () => expect(await create(1, agent)).toBe(0), PATIENCE);
    agent.destroy();
  });
});
