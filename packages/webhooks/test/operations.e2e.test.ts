import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDetachedApp } from '../../framework/src/app/detached-app.js';
import { CONFIG } from '../../framework/src/config/config.module.js';
import { createToken } from '../../framework/src/auth/issued-tokens/token-issuance.js';
import { TokenFormat } from '../../framework/src/auth/issued-tokens/token-format.js';
import { openApiText } from '../../framework/src/openapi/openapi.js';
import { schemaDifferences } from '../../framework/src/testing.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { PATIENCE } from '../../framework/test/support/patience.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import { TOKEN } from '../../framework/test/support/tokens.js';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { hang, isSigned, Receiver, status } from './support/receiver.js';
import { MAX_WEBHOOKS } from '../src/webhooks.service.js';
import { AppModule } from './support/tools.js';
import { WebhookService } from './support/webhook-service.js';

let database: TestDatabase;
let receiver: Receiver;
let service: WebhookService;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await WebhookService.start(database);
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

beforeAll(async () => {
  receiver = await Receiver.start();
});

afterEach(async () => {
  await receiver.stop();
  receiver = await Receiver.start();
  await database.query('DELETE FROM webhooks');
});

afterAll(() => receiver.stop());

const UNKNOWN = '01920000-0000-7000-8000-00000000ffff';
const eventually = (check: () => unknown) => vi.waitFor(check, PATIENCE);

async function tokenOf(name: string, scope: string): Promise<string> {
  const source = service.service.get(DataSource);
  const options = { name, scopes: [scope], lifetime: 'never' } as const;
  return (await createToken(source, new TokenFormat(IDENTITY), options))!.token;
}

describe('a webhook', () => {
  it('is created with a secret that no other response has', async () => {
    const url = receiver.url();
    const created = await service.send('POST', '/webhooks', { url, kinds: ['created'] });
    expect(created.status).toBe(201);
    const { id, secret } = created.body as { id: string; secret: string };
    expect(created.headers.get('Location')).toBe(`/webhooks/${id}`);
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    const found = await service.send('GET', `/webhooks/${id}`);
    expect(found.body).toEqual({ id, url, kinds: ['created'], resources: [] });
    expect((await service.send('GET', '/webhooks')).body).toEqual([found.body]);
    const rows = await database.query('SELECT * FROM webhooks');
    expect(JSON.stringify(rows)).not.toContain(secret.replace('whsec_', ''));
  });

  it.each([
    [{ url: 'http://example.com' }, 40070, 'The address does not begin with https://.'],
    [{ url: 'https://10.0.0.1' }, 40070, 'The address leads to a private or reserved network.'],
    [
      { url: 'https://example.com', kinds: ['x'] },
      40003,
      'kinds must be an array of created, replaced, removed',
    ],
    [{ url: 'https://example.com', resources: ['x'] }, 40003, 'resources must be an array of tool'],
    [{}, 40003, 'url is missing'],
  ])('is rejected: %j', async (body, error, message) => {
    const rejected = await service.send('POST', '/webhooks', body);
    expect(rejected.body).toEqual({ error, message });
    const { id } = await service.listen(receiver.url());
    if ('url' in body) {
      expect((await service.send('PATCH', `/webhooks/${id}`, body)).body).toEqual({
        error,
        message,
      });
    }
  });

  it('is rejected if there are too many', async () => {
    await database.query(`INSERT INTO webhooks (url, kinds, resources, positions, secret, paused_at)
      SELECT 'https://example.com', '{}', '{}', '{}', '', now() FROM generate_series(2, ${MAX_WEBHOOKS})`);
    const { id } = await service.listen(receiver.url());
    const rejected = await service.send('POST', '/webhooks', { url: receiver.url() });
    expect([rejected.status, rejected.body]).toEqual([
      409,
      { error: 40970, message: 'there are too many webhooks' },
    ]);
    await service.send('DELETE', `/webhooks/${id}`);
    expect((await service.send('POST', '/webhooks', { url: receiver.url() })).status).toBe(201);
  });

  it('is changed and removed', async () => {
    const { id } = await service.listen(receiver.url('/one'));
    const patched = await service.send('PATCH', `/webhooks/${id}`, {
      url: receiver.url('/two'),
      kinds: ['created'],
      resources: ['tool'],
    });
    expect(patched.body).toEqual({
      id,
      url: receiver.url('/two'),
      kinds: ['created'],
      resources: ['tool'],
    });
    await service.create(1);
    await eventually(() => expect(receiver.idsOf('/two')).toEqual([1]));
    expect((await service.send('PATCH', `/webhooks/${id}`, { id: UNKNOWN })).body).toEqual({
      error: 40003,
      message: `id must be the id in the path, ${id}`,
    });
    expect((await service.send('DELETE', `/webhooks/${id}`)).status).toBe(204);
    expect(await database.query('SELECT FROM webhook_deliveries')).toEqual([]);
  });

  it('goes on at another address at once', async () => {
    const { id } = await service.listen(receiver.url('/one'));
    receiver.respond = status(500);
    await service.create(2);
    await eventually(async () => expect(await service.find(id)).toHaveProperty('nextAttemptAt'));
    receiver.respond = status(204);
    await service.send('PATCH', `/webhooks/${id}`, { url: receiver.url('/two') });
    await eventually(() => expect(receiver.idsOf('/two')).toEqual([2]));
  });

  it('keeps its place in a resource that only other replicas have', async () => {
    const { id } = await service.listen(receiver.url());
    await database.query(`UPDATE webhooks SET positions = positions || '{"loan": "7"}'`);
    const resources = async () => {
      const [row] = await database.query('SELECT positions FROM webhooks');
      return Object.keys(row!['positions'] as object).toSorted();
    };
    await service.send('PATCH', `/webhooks/${id}`, { kinds: ['created'] });
    expect(await resources()).toEqual(['loan', 'tool']);
    await service.send('PATCH', `/webhooks/${id}`, { resources: ['tool'] });
    expect(await resources()).toEqual(['tool']);
  });

  it('needs its scope', async () => {
    const token = await tokenOf('other', 'tools:read');
    const rejected = await service.send('GET', '/webhooks', undefined, token);
    expect(rejected.status).toBe(403);
  });

  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['PATCH', '', { kinds: [] }],
    ['POST', '/test'],
    ['POST', '/resume', { from: 'stopped' }],
    ['POST', '/rotate-secret'],
    ['GET', '/deliveries'],
  ])('that does not exist: %s %s', async (method, path, body?: object) => {
    const { body: error } = await service.send(method, `/webhooks/${UNKNOWN}${path}`, body);
    expect(error).toEqual({ error: 40470, message: `there is no webhook with id ${UNKNOWN}` });
  });
});

describe('a secret', () => {
  it('signs together with the one before for a day', async () => {
    const { id, secret } = await service.listen(receiver.url());
    const rotated = await service.send('POST', `/webhooks/${id}/rotate-secret`);
    const next = rotated.body['secret'] as string;
    expect(next).not.toBe(secret);
    await service.send('POST', `/webhooks/${id}/test`);
    await database.query(`UPDATE webhooks SET previous_until = previous_until - interval '1 day'`);
    await service.send('POST', `/webhooks/${id}/test`);
    const [both, one] = receiver.received;
    expect(isSigned(both!, next, secret)).toBe(true);
    expect(isSigned(one!, next)).toBe(true);
  });

  it('cannot be kept without a key', async () => {
    const other = await WebhookService.start(database, {});
    const rejected = await other.send('POST', '/webhooks', { url: 'https://example.com' });
    expect(rejected.body).toEqual({
      error: 50170,
      message: 'the service cannot keep the secrets of webhooks',
    });
    await other.stop();
  });
});

describe('deliveries', () => {
  it('are listed, and sent again', async () => {
    const { id } = await service.listen(receiver.url());
    await service.create(3);
    const list = async () =>
      (await service.send('GET', `/webhooks/${id}/deliveries?sort=-id`)).body as unknown as Record<
        string,
        unknown
      >[];
    await eventually(async () => expect(await list()).toHaveLength(1));
    const [delivery] = await list();
    expect(delivery).toMatchObject({
      webhookId: id,
      type: 'tool.created',
      outcome: 'delivered',
      status: 200,
    });
    receiver.respond = status(418, {}, 'a teapot');
    const path = `/webhooks/${id}/deliveries/${String(delivery!['id'])}/resend`;
    expect((await service.send('POST', path)).body).toMatchObject({
      messageId: delivery!['messageId'],
      outcome: 'failed',
      status: 418,
      response: 'a teapot',
    });
    const [first, again] = receiver.received;
    expect(again!.text).toBe(first!.text);
    expect(await list()).toHaveLength(2);
    const other = await service.listen(receiver.url());
    const wrong = `/webhooks/${other.id}/deliveries/${String(delivery!['id'])}/resend`;
    expect((await service.send('POST', wrong)).body).toMatchObject({ error: 40471 });
    await database.query(`UPDATE webhook_deliveries SET message_id = 'tool_12345678'`);
    expect((await service.send('POST', path)).body).toMatchObject({ error: 41070 });
  });

  it('of a test message say what came back', async () => {
    const { id } = await service.listen(receiver.url());
    const { body } = await service.send('POST', `/webhooks/${id}/test`);
    expect(body).toMatchObject({ type: 'webhook.test', outcome: 'delivered', status: 200 });
    receiver.respond = status(410);
    const gone = await service.send('POST', `/webhooks/${id}/test`);
    expect(gone.body).toMatchObject({ outcome: 'gone', status: 410 });
    expect(await service.find(id)).not.toHaveProperty('pausedReason');
    const again = `/webhooks/${id}/deliveries/${String(gone.body['id'])}/resend`;
    expect((await service.send('POST', again)).body).toMatchObject({ error: 41070 });
  });

  it('on request push out those before the last hundred', async () => {
    const { id } = await service.listen(receiver.url());
    await database.query(`INSERT INTO webhook_deliveries (webhook_id, message_id, type, time, outcome)
      SELECT '${id}', 'tool_' || n, 'tool.created', now(), 'failed' FROM generate_series(1, 150) AS n`);
    await service.send('POST', `/webhooks/${id}/test`);
    const left = await database.query('SELECT message_id FROM webhook_deliveries ORDER BY id');
    expect(left).toHaveLength(101);
    expect(left[0]).toEqual({ message_id: 'tool_51' });
  });

  it('on request end with their client, without an error of the service', async () => {
    const { id } = await service.listen(receiver.url());
    let ended: Promise<unknown> = Promise.resolve();
    receiver.respond = (response) => (ended = once(response, 'close'));
    const client = new AbortController();
    const { port } = service.service.address;
    const sent = fetch(`http://127.0.0.1:${port}/webhooks/${id}/test`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}` },
      signal: client.signal,
    });
    await eventually(() => expect(receiver.received).toHaveLength(1));
    client.abort();
    await expect(sent).rejects.toThrow('aborted');
    await ended;
    expect(await service.metrics()).toContain('refusals_total{error="50000"} 0\n');
  });

  it('on request are not too many at once, and leave some to other principals', async () => {
    const { id } = await service.listen(receiver.url());
    receiver.respond = hang;
    const sendTest = (token: string) =>
      service.send('POST', `/webhooks/${id}/test`, undefined, token);
    const waiting: ReturnType<typeof sendTest>[] = [];
    for (const [token, count] of [
      [TOKEN, 8],
      [await tokenOf('colleague', 'webhooks:manage'), 4],
    ] as const) {
      const before = waiting.length;
      for (let n = 0; n < count; n += 1) waiting.push(sendTest(token));
      await eventually(() => expect(receiver.received).toHaveLength(before + count));
      expect((await sendTest(token)).body).toMatchObject({ error: 42970 });
    }
    await receiver.stop();
    for (const { body } of await Promise.all(waiting))
      expect(body).toMatchObject({ outcome: 'failed' });
  });
});

describe('the module', () => {
  it('has the tables of its entities', async () => {
    expect(await schemaDifferences(service.service)).toEqual([]);
  });

  it('says why there are no webhooks where changes are not recorded', async () => {
    const distributed = await createTestDatabase();
    onTestFinished(() => distributed.drop());
    // By this table, the service notices Citus.
    await distributed.query(
      'SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition ()',
    );
    const other = await WebhookService.start(distributed);
    onTestFinished(() => other.stop());
    const rejected = await other.send('POST', '/webhooks', { url: receiver.url() });
    expect(rejected.body).toEqual({ error: 40400, message: 'changes are not recorded' });
  });

  it('describes its messages', async () => {
    const app = await createDetachedApp(AppModule);
    const document = JSON.parse(openApiText(app, app.get(CONFIG))) as {
      webhooks: Record<string, { post: { operationId: string } }>;
    };
    await app.close();
    expect(Object.keys(document.webhooks)).toEqual([
      'tool.created',
      'tool.removed',
      'tool.replaced',
    ]);
    expect(document.webhooks['tool.created']!.post.operationId).toBe('toolCreated');
  });
});

it('a webhook that is removed while it gets a test message is not found', async () => {
  const { id } = await service.listen(receiver.url());
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query('DELETE FROM webhooks WHERE id = $1', [id]);
  const response = service.send('POST', `/webhooks/${id}/test`);
  await eventually(async () =>
    expect(
      await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      ),
    ).toHaveLength(1),
  );
  await other.query('COMMIT');
  await other.end();
  expect((await response).status).toBe(404);
});
