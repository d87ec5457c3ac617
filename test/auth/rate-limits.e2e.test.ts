import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { AUDIENCE } from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const STATIC = `Bearer ${TOKEN}`;

/** The fields of an answer that tells no limit. */
const NOTHING = { policy: null, limit: null, retryAfter: null };

let database: TestDatabase;
let issuer: TestIssuer;

beforeAll(async () => {
  [database, issuer] = await Promise.all([createMigratedDatabase(), startTestIssuer()]);
});

afterAll(async () => {
  await issuer.close();
  await database.drop();
});

/** A service that has counted nothing yet. It stops at the end of the test. */
async function start(environment: Record<string, string>): Promise<TestService> {
  const service = await startTestService({ environment, database });
  onTestFinished(() => service.stop());
  return service;
}

/** A service that accepts JWTs, with a limit. */
function startWithLimit(quota: number): Promise<TestService> {
  const jwt = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE };
  return start({ ...jwt, RATE_LIMIT: String(quota) });
}

/** Lists plants. */
function list(service: TestService, credentials?: string, headers = {}): Promise<Answer> {
  return service.request('GET', '/plants?limit=1', {
    headers: { ...headers, ...(credentials !== undefined && { Authorization: credentials }) },
    anonymous: true,
  });
}

function fieldsOf({ headers }: Answer) {
  return {
    policy: headers.get('ratelimit-policy'),
    limit: headers.get('ratelimit'),
    retryAfter: headers.get('retry-after'),
  };
}

/** The seconds in the fields, which must agree: those until the window ends, of which some may have passed. */
function secondsIn(answer: Answer): number {
  const seconds = Number(/;t=(\d+)$/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  return seconds;
}

async function metric(service: TestService, name: string): Promise<number> {
  const text = await (await fetch(`${service.managementUrl}/metrics`)).text();
  const line = text.split('\n').find((sample) => sample.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

describe('the limit of a principal', () => {
  it('is told with each answer, and refuses what exceeds it', async () => {
    const service = await startWithLimit(2);
    const policy = '"principal";q=2;w=60';
    for (const remaining of [1, 0]) {
      const answer = await list(service, STATIC);
      expect(answer.status).toBe(200);
      const limit = `"principal";r=${remaining};t=${secondsIn(answer)}`;
      expect(fieldsOf(answer)).toEqual({ policy, limit, retryAfter: null });
    }
    const refused = await list(service, STATIC);
    expect(refused.status).toBe(429);
    expect(refused.text).toBe(
      '{"error":42900,"message":"the owner of the token has sent more than 2 requests in 60 seconds"}',
    );
    const seconds = secondsIn(refused);
    const limit = `"principal";r=0;t=${seconds}`;
    expect(fieldsOf(refused)).toEqual({ policy, limit, retryAfter: String(seconds) });
    expect(refused.headers.has('www-authenticate')).toBe(false);
    expect(await metric(service, 'plant_store_rate_limited_total{limit="principal"}')).toBe(1);
    expect(await metric(service, 'plant_store_refusals_total{error="42900"}')).toBe(1);
    expect(service.log).toContainEqual(
      expect.objectContaining({ status: 429, error: 42900, principalKind: 'static-token' }),
    );
    // It is refused before the body is read.
    expect((await service.post('x'.repeat(900_000))).json['error']).toBe(42900);
  });

  it('does not count the requests of others, but all tokens of the same principal', async () => {
    const service = await startWithLimit(2);
    const statuses = async (count: number, credentials: string) => {
      const all: number[] = [];
      for (let i = 0; i < count; i++) all.push((await list(service, credentials)).status);
      return all;
    };
    const token = async (sub: string, jti: string) => `Bearer ${await issuer.token({ sub, jti })}`;
    expect(await statuses(3, STATIC)).toEqual([200, 200, 429]);
    expect(await statuses(1, await token('gardener', 'gardener'))).toEqual([200]);
    expect(await statuses(2, await token('gardener', 'another'))).toEqual([200, 429]);
    expect(await statuses(1, await token('visitor', 'visitor'))).toEqual([200]);
  });

  it('counts requests that fail, and comes before the scope', async () => {
    const service = await startWithLimit(2);
    const credentials = `Bearer ${await issuer.token({ scope: 'plants:read' })}`;
    const create = () => service.post({}, { Authorization: credentials });
    const forbidden = await create();
    expect(forbidden.status).toBe(403);
    expect(forbidden.headers.get('ratelimit')).toMatch(/^"principal";r=1;t=\d+$/);
    expect((await list(service, credentials)).status).toBe(200);
    expect((await create()).status).toBe(429);
  });

  it('is told with creates, look-ups and exports as well', async () => {
    const service = await startWithLimit(10);
    for (const [remaining, answer] of [
      [9, await service.post({ id: 7, name: 'Aloe' })],
      [8, await service.request('GET', '/plants/7')],
      [7, await service.request('GET', '/plants/export')],
    ] as const) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('ratelimit')).toMatch(
        new RegExp(`^"principal";r=${remaining};t=\\d+$`),
      );
    }
  });

  it('is off by default: nothing is counted or told', async () => {
    const service = await start({});
    for (let i = 0; i < 20; i++) {
      const answer = await list(service, STATIC);
      expect(answer.status).toBe(200);
      expect(fieldsOf(answer)).toEqual(NOTHING);
    }
    expect(await metric(service, 'plant_store_rate_limited_total{limit="principal"}')).toBe(0);
  });
});

describe('wrong credentials', () => {
  it('are answered 401, however many come from an address, and a valid token works meanwhile', async () => {
    const service = await startWithLimit(1_000);
    const expired = `Bearer ${await issuer.token({ exp: 1 })}`;
    const counted = () =>
      metric(service, 'plant_store_refused_credentials_total{reason="expired"}');
    const before = await counted();
    for (let i = 0; i < 20; i++) {
      const answer = await list(service, expired);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
      expect(fieldsOf(answer)).toEqual(NOTHING);
      expect((await list(service, 'Bearer a-wrong-token')).status).toBe(401);
    }
    expect((await list(service, STATIC)).status).toBe(200);
    expect(await counted()).toBe(before + 20);
  });
});

it('pages of permitted origins may read the fields', async () => {
  const service = await start({ CORS_ORIGINS: 'https://app.example.com' });
  const answer = await list(service, undefined, { Origin: 'https://app.example.com' });
  const exposed = answer.headers.get('access-control-expose-headers')?.split(',');
  expect(exposed).toEqual(expect.arrayContaining(['RateLimit', 'RateLimit-Policy', 'Retry-After']));
});
