import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { isSigned, Receiver, status } from '../../packages/webhooks/test/support/receiver.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/* What users of the plant store do with webhooks. packages/webhooks tests what can go wrong. */

let service: TestService;
let receiver: Receiver;
let id: string;
let secret: string;

beforeAll(async () => {
  receiver = await Receiver.start();
  service = await startTestService({
    environment: {
      WEBHOOK_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      WEBHOOK_ALLOWED_NETWORKS: 'loopback',
      CORS_ORIGINS: 'https://page.example',
    },
  });
  const { json } = await send('POST', '', { url: receiver.url() });
  ({ id, secret } = json as { id: string; secret: string });
});

afterAll(async () => {
  await receiver.stop();
  await service.stop();
});

const send = (method: string, path: string, body?: object) =>
  service.request(method, `/webhooks${path}`, {
    headers: { 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

async function deliveries(): Promise<readonly Record<string, unknown>[]> {
  const { json } = await send('GET', `/${id}/deliveries?sort=-id`);
  return json as unknown as Record<string, unknown>[];
}

describe('POST /webhooks', () => {
  it('sends the changes that follow, exactly', async () => {
    await service.post('{"id":9007199254740993,"name":"Monstera","tag":"indoor"}');
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1), PATIENCE);
    const [message] = receiver.received;
    expect(message!.text).toContain('"type":"plant.created"');
    expect(message!.text).toContain(
      '"data":{"id":9007199254740993,"name":"Monstera","tag":"indoor"}',
    );
    expect(isSigned(message!, secret)).toBe(true);
  });

  it('keeps no response: there is nothing for an Idempotency-Key', async () => {
    const tables = await service.database.query(
      "SELECT FROM pg_tables WHERE tablename = 'idempotency_keys'",
    );
    expect(tables).toEqual([]);
    const { headers } = await service.request('OPTIONS', '/plants', {
      headers: { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' },
      anonymous: true,
    });
    expect(headers.get('Access-Control-Allow-Headers')).not.toMatch(/idempotency/i);
  });
});

describe('GET /webhooks', () => {
  it('lists them without their secrets', async () => {
    const { json } = await send('GET', '');
    expect(json).toEqual([{ id, url: receiver.url(), kinds: [], resources: [] }]);
  });
});

describe('GET /webhooks/{id}', () => {
  it('shows one', async () => {
    expect((await send('GET', `/${id}`)).json).toMatchObject({ id, url: receiver.url() });
  });
});

describe('PATCH /webhooks/{id}', () => {
  it('chooses what is sent', async () => {
    const choice = { kinds: ['created'], resources: ['plant'] };
    expect((await send('PATCH', `/${id}`, choice)).json).toMatchObject(choice);
  });
});

describe('POST /webhooks/{id}/rotate-secret', () => {
  it('returns a new secret', async () => {
    const { json } = await send('POST', `/${id}/rotate-secret`);
    expect(json['secret']).toMatch(/^whsec_/);
    expect(json['secret']).not.toBe(secret);
  });
});

describe('POST /webhooks/{id}/test', () => {
  it('says what came back', async () => {
    const { json } = await send('POST', `/${id}/test`);
    expect(json).toMatchObject({ type: 'webhook.test', outcome: 'delivered', status: 200 });
  });
});

describe('GET /webhooks/{id}/deliveries', () => {
  it('lists the attempts', async () => {
    // Those of the service itself are stored when it has sent all that there was.
    const types = async () => (await deliveries()).map(({ type }) => String(type)).toSorted();
    await vi.waitFor(
      async () => expect(await types()).toEqual(['plant.created', 'webhook.test']),
      PATIENCE,
    );
  });
});

describe('POST /webhooks/{id}/deliveries/{delivery}/resend', () => {
  it('sends the message of an attempt again', async () => {
    const delivery = (await deliveries()).find(({ type }) => type === 'plant.created')!;
    const again = await send('POST', `/${id}/deliveries/${String(delivery['id'])}/resend`);
    expect(again.json).toMatchObject({ messageId: delivery['messageId'], outcome: 'delivered' });
    expect(receiver.received.at(-1)!.text).toBe(receiver.received[0]!.text);
  });
});

describe('POST /webhooks/{id}/resume', () => {
  it('goes on where it has stopped', async () => {
    receiver.respond = status(410);
    await service.post({ id: 2, name: 'Ficus' });
    const reason = async () => (await send('GET', `/${id}`)).json['pausedReason'];
    await vi.waitFor(async () => expect(await reason()).toBe('gone'), PATIENCE);
    receiver.respond = status(204);
    const count = receiver.received.length;
    expect((await send('POST', `/${id}/resume`, { from: 'stopped' })).json).toMatchObject({ id });
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(count), PATIENCE);
    expect(receiver.idsOf().at(-1)).toBe(2);
  });
});

describe('DELETE /webhooks/{id}', () => {
  it('removes it', async () => {
    expect((await send('DELETE', `/${id}`)).status).toBe(204);
    expect((await send('GET', `/${id}`)).status).toBe(404);
  });
});
