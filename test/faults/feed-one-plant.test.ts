import { expect } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { misreplayed, recordsIn } from '../support/feed.js';
import { connect } from '../support/own-postgres.js';

const CLIENTS = 24;

/** Requests of a client. */
const REQUESTS = 40;

/** Answers with which a request has changed nothing, or has found it changed. */
const KNOWN = new Set([200, 204, 404, 400, 503]);

const METHODS = ['PATCH', 'PATCH', 'PATCH', 'PUT', 'PUT', 'POST', 'POST', 'DELETE'] as const;

interface Sent {
  readonly method: (typeof METHODS)[number];
  /** Of nobody else. */
  readonly requestId: string;
  readonly status: number;
  /** The plant that was answered, in the order of the columns. */
  readonly content: string | undefined;
}

it.for(['read committed', 'repeatable read', 'serializable'])(
  'changes of one plant are recorded as they were made, with isolation level %s',
  async (isolation, { postgres, start }) => {
    const url = new URL(postgres.url);
    url.searchParams.set(
      'options',
      `-c default_transaction_isolation=${isolation.replace(' ', String.raw`\ `)}`,
    );
    const session = await connect(url.href);
    const { rows } = await session.query('SHOW transaction_isolation');
    await session.end();
    expect(rows).toEqual([{ transaction_isolation: isolation }]);
    const environment = { DATABASE_URL: url.href };
    const replicas = [await start(environment), await start(environment)];
    const sent = (
      await Promise.all(
        Array.from({ length: CLIENTS }, (_, client) => run(replicas[client % 2]!.url, client)),
      )
    ).flat();

    expect(sent.filter(({ status }) => !KNOWN.has(status))).toEqual([]);
    expect(await misreplayed(postgres.url)).toEqual([]);
    const records = (await recordsIn(postgres.url)).map(({ line }) => line);
    const recordsOf = (id: string) => records.filter((line) => line.endsWith(` ${id}`));
    for (const { method, requestId, status, content } of sent) {
      const [record, ...more] = recordsOf(requestId);
      expect(more).toEqual([]);
      // Each change that was acknowledged has altered something: its content is its own.
      if (status < 300) expect(record).toBeDefined();
      if (status === 404 || status === 400) expect(record).toBeUndefined();
      const kind = { POST: 'created', DELETE: 'removed', PUT: 'replaced', PATCH: 'replaced' }[
        method
      ];
      if (record !== undefined) expect(record).toContain(` ${kind} 7 ${content ?? ''}`);
    }
    for (const method of METHODS) {
      expect(
        sent.filter((one) => one.method === method && one.status < 300).length,
      ).toBeGreaterThan(3);
    }
    for (const { service } of replicas) expect(service.stderr).toBe('');
  },
);

async function run(url: string, client: number): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  for (let n = 0; n < REQUESTS; n += 1) {
    const method = METHODS[Math.floor(Math.random() * METHODS.length)]!;
    const requestId = `c${client}-${n}`;
    const body = {
      ...(method === 'POST' && { id: 7 }),
      ...(method === 'PATCH' ? { tag: requestId } : { name: requestId }),
    };
    const response = await fetch(method === 'POST' ? url : `${url}/7`, {
      method,
      headers: {
        Authorization: `Bearer ${TOKEN}`,
        'X-Request-Id': requestId,
        'Content-Type': 'application/json',
      },
      ...(method !== 'DELETE' && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const plant = response.status === 200 ? (JSON.parse(text) as Record<string, string>) : {};
    sent.push({
      method,
      requestId,
      status: response.status,
      content: plant['name'] && `${plant['name']} ${plant['tag'] ?? ''}`,
    });
  }
  return sent;
}
