import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMigratedDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { AUDIENCE, TestIssuer } from '../support/test-issuer.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const WRONG = 'Bearer a-wrong-token';

let database: TestDatabase;
let issuer: TestIssuer;

beforeAll(async () => {
  [database, issuer] = await Promise.all([createMigratedDatabase(), TestIssuer.start()]);
});

afterAll(async () => {
  await issuer.close();
  await database.drop();
});

/** Runs a test with a service of its own, which has counted nothing yet. */
async function withService(
  environment: Record<string, string>,
  test: (service: TestService) => Promise<void>,
): Promise<void> {
  const service = await startTestService({ environment, database });
  try {
    await test(service);
  } finally {
    await service.stop();
  }
}

/** Lists plants. */
function list(service: TestService, credentials?: string, headers = {}): Promise<Answer> {
  return service.request('GET', '/plants?limit=1', {
    headers: { ...headers, ...(credentials !== undefined && { Authorization: credentials }) },
    anonymous: true,
  });
}

async function statuses(answers: number, ask: () => Promise<{ status: number }>) {
  const all: number[] = [];
  for (let i = 0; i < answers; i++) all.push((await ask()).status);
  return all;
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
  const STATIC = `Bearer ${TOKEN}`;

  function limited(quota: number, test: (service: TestService) => Promise<void>) {
    const jwt = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE };
    return withService({ ...jwt, RATE_LIMIT: String(quota) }, test);
  }

  it('is told with each answer, and refuses what exceeds it', async () => {
    await limited(2, async (service) => {
      for (const remaining of [1, 0]) {
        const answer = await list(service, STATIC);
        expect(answer.status).toBe(200);
        expect(fieldsOf(answer)).toEqual({
          policy: '"principal";q=2;w=60',
          limit: `"principal";r=${remaining};t=${secondsIn(answer)}`,
          retryAfter: null,
        });
      }
      const refused = await list(service, STATIC);
      expect(refused.status).toBe(429);
      expect(refused.text).toBe(
        '{"error":42900,"message":"the owner of the token has sent more than 2 requests in 60 seconds"}',
      );
      const seconds = secondsIn(refused);
      expect(fieldsOf(refused)).toEqual({
        policy: '"principal";q=2;w=60',
        limit: `"principal";r=0;t=${seconds}`,
        retryAfter: String(seconds),
      });
      expect(refused.headers.has('www-authenticate')).toBe(false);
      expect(await metric(service, 'plant_store_rate_limited_total{limit="principal"}')).toBe(1);
      expect(await metric(service, 'plant_store_refusals_total{error="42900"}')).toBe(1);
      expect(service.log).toContainEqual(
        expect.objectContaining({ status: 429, error: 42900, principalKind: 'static-token' }),
      );
    });
  });

  it('does not count the requests of others, but all tokens of the same principal', async () => {
    await limited(2, async (service) => {
      const token = async (sub: string) => `Bearer ${await issuer.token({ sub, jti: sub })}`;
      const gardener = await token('gardener');
      const again = `Bearer ${await issuer.token({ sub: 'gardener', jti: 'another' })}`;
      expect(await statuses(3, () => list(service, STATIC))).toEqual([200, 200, 429]);
      expect(await statuses(1, () => list(service, gardener))).toEqual([200]);
      expect(await statuses(2, () => list(service, again))).toEqual([200, 429]);
      expect(await statuses(1, async () => list(service, await token('visitor')))).toEqual([200]);
    });
  });

  it('counts requests that fail, and comes before the scope', async () => {
    await limited(2, async (service) => {
      const credentials = `Bearer ${await issuer.token({ scope: 'plants:read' })}`;
      const create = () =>
        service.request('POST', '/plants', { headers: { Authorization: credentials }, body: '{}' });
      const forbidden = await create();
      expect(forbidden.status).toBe(403);
      expect(forbidden.headers.get('ratelimit')).toMatch(/^"principal";r=1;t=\d+$/);
      expect((await list(service, credentials, { 'X-Request-Id': 'x' })).status).toBe(200);
      expect((await create()).status).toBe(429);
    });
  });

  it('is told with creates and look-ups as well', async () => {
    await limited(10, async (service) => {
      const created = await service.post({ id: 7, name: 'Aloe' });
      expect(created.text).toBe('{"name":"Aloe"}');
      expect(created.headers.get('ratelimit')).toMatch(/^"principal";r=9;t=\d+$/);
      const found = await service.request('GET', '/plants/7');
      expect(found.headers.get('ratelimit')).toMatch(/^"principal";r=8;t=\d+$/);
      const exported = await service.request('GET', '/plants/export');
      expect(exported.headers.get('ratelimit')).toMatch(/^"principal";r=7;t=\d+$/);
    });
  });

  it('refuses before the body is read', async () => {
    await limited(1, async (service) => {
      await list(service, STATIC);
      const answer = await service.post('x'.repeat(900_000));
      expect(answer.json['error']).toBe(42900);
    });
  });

  it('is off by default: nothing is counted or told', async () => {
    await withService({}, async (service) => {
      for (let i = 0; i < 100; i++) {
        const answer = await list(service, STATIC);
        expect(answer.status).toBe(200);
        expect(fieldsOf(answer)).toEqual({ policy: null, limit: null, retryAfter: null });
      }
    });
  });
});

describe('wrong credentials', () => {
  it('are answered 401, however many come from an address, and a valid token works meanwhile', async () => {
    const jwt = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE };
    await withService({ ...jwt, RATE_LIMIT: '1000' }, async (service) => {
      const expired = `Bearer ${await issuer.token({ exp: 1 })}`;
      const before = await metric(
        service,
        'plant_store_refused_credentials_total{reason="expired"}',
      );
      for (let i = 0; i < 100; i++) {
        const answer = await list(service, expired);
        expect(answer.status).toBe(401);
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
        expect(fieldsOf(answer)).toEqual({ policy: null, limit: null, retryAfter: null });
        expect((await list(service, WRONG)).status).toBe(401);
      }
      expect((await list(service, `Bearer ${TOKEN}`)).status).toBe(200);
      expect(await metric(service, 'plant_store_refused_credentials_total{reason="expired"}')).toBe(
        before + 100,
      );
    });
  });
});

describe('CORS', () => {
  it('lets pages read the fields', async () => {
    await withService({ CORS_ORIGINS: 'https://app.example.com' }, async (service) => {
      const answer = await list(service, undefined, { Origin: 'https://app.example.com' });
      const exposed = answer.headers.get('access-control-expose-headers')?.split(',');
      expect(exposed).toEqual(
        expect.arrayContaining(['RateLimit', 'RateLimit-Policy', 'Retry-After']),
      );
    });
  });
});
