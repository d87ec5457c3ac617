import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMigratedDatabase } from './support/test-database.js';
import type { TestDatabase } from './support/test-database.js';
import { AUDIENCE, TestIssuer } from './support/test-issuer.js';
import { startTestService, TOKEN } from './support/test-service.js';
import type { Answer, TestService } from './support/test-service.js';

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

describe('the limit of failed authentications', () => {
  const limitedTo = (quota: number, more = {}) => ({ AUTH_FAILURE_LIMIT: String(quota), ...more });

  it('answers 429 instead of 401, and tells when to come back', async () => {
    await withService(limitedTo(2), async (service) => {
      for (let i = 0; i < 2; i++) {
        const answer = await list(service, WRONG);
        expect(answer.status).toBe(401);
        expect(fieldsOf(answer)).toEqual({ policy: null, limit: null, retryAfter: null });
      }
      const refused = await list(service, WRONG);
      expect(refused.status).toBe(429);
      expect(refused.text).toBe(
        '{"error":42900,"message":"this address has sent credentials that are not valid in more than 2 requests in 60 seconds"}',
      );
      const seconds = secondsIn(refused);
      expect(fieldsOf(refused)).toEqual({
        policy: '"failed-authentication";q=2;w=60',
        limit: `"failed-authentication";r=0;t=${seconds}`,
        retryAfter: String(seconds),
      });
      const limited = 'plant_store_rate_limited_total{limit="failed-authentication"}';
      expect(await metric(service, limited)).toBe(1);
      // The reason is counted and logged for each.
      const reason = 'plant_store_refused_credentials_total{reason="unknown-token"}';
      expect(await metric(service, reason)).toBe(3);
      expect(service.log).toContainEqual(
        expect.objectContaining({ status: 429, error: 42900, refusal: 'unknown-token' }),
      );
    });
  });

  it('is 60 by default', async () => {
    await withService({ AUTH_FAILURE_LIMIT: '' }, async (service) => {
      const answers = await statuses(62, () => list(service, WRONG));
      expect(answers.lastIndexOf(401)).toBe(59);
      expect(answers.slice(60)).toEqual([429, 429]);
    });
  });

  it('is off with 0', async () => {
    await withService(limitedTo(0), async (service) => {
      const answers = await statuses(100, () => list(service, WRONG));
      expect(new Set(answers)).toEqual(new Set([401]));
    });
  });

  it('counts only credentials that are not valid', async () => {
    const jwt = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE };
    await withService(limitedTo(4, jwt), async (service) => {
      const visitor = `Bearer ${await issuer.token({ scope: 'openid' })}`;
      for (const credentials of [undefined, 'Basic YWxhZGRpbg==', visitor, `Bearer ${TOKEN}`]) {
        const answers = await statuses(5, () => list(service, credentials));
        expect(answers).not.toContain(429);
      }
      const failures = [
        WRONG,
        'Bearer ',
        `Bearer ${await issuer.token({ aud: 'others' })}`,
        `Bearer ${await issuer.token({ exp: 1 })}`,
      ];
      for (const credentials of failures)
        expect((await list(service, credentials)).status).toBe(401);
      for (const credentials of failures)
        expect((await list(service, credentials)).status).toBe(429);
      expect((await list(service)).status).toBe(401);
      expect((await list(service, visitor)).status).toBe(403);
    });
  });

  it('never refuses a valid token, whatever others send from its address', async () => {
    const jwt = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE };
    await withService(limitedTo(1, jwt), async (service) => {
      const gardener = `Bearer ${await issuer.token()}`;
      const flood = async () => {
        for (let i = 0; i < 100; i++) await list(service, `${WRONG}-${i}`);
      };
      const work = async () => [
        ...(await statuses(50, () => list(service, `Bearer ${TOKEN}`))),
        ...(await statuses(50, () => list(service, gardener))),
      ];
      const [answers] = await Promise.all([work(), flood(), flood(), flood()]);
      expect(new Set(answers)).toEqual(new Set([200]));
      expect((await list(service, WRONG)).status).toBe(429);
    });
  });

  // Other systems have only 127.0.0.1 on loopback.
  it.skipIf(process.platform !== 'linux')('is that of an address', async () => {
    await withService(limitedTo(2), async (service) => {
      const from = (localAddress: string) => statuses(3, () => failFrom(service, localAddress));
      expect(await from('127.0.0.1')).toEqual([401, 401, 429]);
      expect(await from('127.0.0.2')).toEqual([401, 401, 429]);
    });
  });

  const forwardedFor = (address: string) => ({ 'X-Forwarded-For': address });

  it('does not believe X-Forwarded-For without TRUST_PROXY', async () => {
    await withService(limitedTo(2), async (service) => {
      let i = 0;
      const answers = await statuses(4, () =>
        list(service, WRONG, { ...forwardedFor(`192.0.2.${++i}`), Forwarded: `for=192.0.2.${i}` }),
      );
      expect(answers).toEqual([401, 401, 429, 429]);
    });
  });

  it('believes with TRUST_PROXY what the trusted proxy has added, and nothing before it', async () => {
    await withService(limitedTo(2, { TRUST_PROXY: '1' }), async (service) => {
      let i = 0;
      const from = (address: string) => () =>
        list(service, WRONG, forwardedFor(`198.51.100.${++i}, ${address}`));
      expect(await statuses(3, from('192.0.2.1'))).toEqual([401, 401, 429]);
      expect(await statuses(3, from('192.0.2.2'))).toEqual([401, 401, 429]);
      expect(await statuses(3, from('2001:db8::1'))).toEqual([401, 401, 429]);
      // The same network.
      expect(await statuses(1, from('2001:db8::ffff:2'))).toEqual([429]);
      expect(await statuses(1, from('2001:db8:0:1::1'))).toEqual([401]);
      // The same address, as a socket for both versions shows it.
      expect(await statuses(1, from('::ffff:192.0.2.1'))).toEqual([429]);
    });
  });

  it('does not believe a client that is not the trusted proxy', async () => {
    await withService(limitedTo(2, { TRUST_PROXY: '10.0.0.0/8' }), async (service) => {
      let i = 0;
      const answers = await statuses(4, () => list(service, WRONG, forwardedFor(`192.0.2.${++i}`)));
      expect(answers).toEqual([401, 401, 429, 429]);
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

/** Sends a wrong token from an address of this machine. */
async function failFrom({ port }: TestService, localAddress: string): Promise<{ status: number }> {
  const options = { port, path: '/plants', localAddress, headers: { Authorization: WRONG } };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', agent: false, ...options }, resolve)
      .on('error', reject)
      .end();
  });
  await json(answer);
  return { status: answer.statusCode ?? 0 };
}
