import { Controller, Get } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DiscoveryModule } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequireScope } from '../../src/auth/require-scope.decorator.js';
import { ScopeCheck } from '../../src/auth/scope-check.js';
import { OPERATIONS } from '../support/operations.js';
import type { Operation } from '../support/operations.js';
import { AUDIENCE, TestIssuer } from '../support/test-issuer.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const SCOPES = [...new Set(OPERATIONS.map(({ scope }) => scope))];

let issuer: TestIssuer;
let service: TestService;

beforeAll(async () => {
  issuer = await TestIssuer.start();
  service = await startTestService({ environment: jwtSettings() });
});

afterAll(async () => {
  await service.stop();
  await issuer.close();
});

function jwtSettings() {
  return { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE };
}

function call(
  { method, path }: Pick<Operation, 'method' | 'path'>,
  token: string,
  headers: Record<string, string> = {},
  of: TestService = service,
): Promise<Answer> {
  return of.request(method, path.replaceAll(/\{\w+\}/g, '1'), {
    headers: { ...headers, Authorization: `Bearer ${token}` },
  });
}

const CALLS = OPERATIONS.map((operation) => [operation.method, operation.path, operation] as const);

describe('the scope of an operation', () => {
  it('is written in the document: read for what only reads, write for the rest', () => {
    for (const { method, scope } of OPERATIONS) {
      expect(scope).toMatch(method === 'GET' ? /^[a-z-]+:read$/ : /^[a-z-]+:write$/);
    }
  });

  it.each(CALLS)('%s %s is needed: all others are not enough', async (_, __, operation) => {
    const { scope: needed } = operation;
    const others = SCOPES.filter((scope) => scope !== needed);
    const answer = await call(operation, await issuer.token({ scope: others.join(' ') }));
    expect(answer.status).toBe(403);
    expect(answer.text).toBe(`{"error":40300,"message":"the operation needs the scope ${needed}"}`);
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer realm="plant-store", error="insufficient_scope", error_description="the token lacks the scope", scope="${needed}"`,
    );
  });

  it.each(CALLS)('%s %s is enough', async (_, __, operation) => {
    const answer = await call(operation, await issuer.token({ scope: operation.scope }));
    expect([401, 403]).not.toContain(answer.status);
  });

  it.each(CALLS)('%s %s is among those of the static token', async (_, __, operation) => {
    expect([401, 403]).not.toContain((await call(operation, TOKEN)).status);
  });

  it('of a HEAD request is the scope of GET', async () => {
    const operation = { method: 'HEAD', path: '/plants' };
    const writer = await issuer.token({ scope: 'plants:write' });
    expect((await call(operation, writer)).status).toBe(403);
  });

  it.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
    'does not change with %s',
    async (header) => {
      const reader = await issuer.token({ scope: 'plants:read' });
      const asGet = { [header]: 'GET' };
      const created = await call({ method: 'POST', path: '/plants?_method=GET' }, reader, asGet);
      expect(created.status).toBe(403);
      const asDelete = { [header]: 'DELETE' };
      await service.post({ id: 1, name: 'Aloe' });
      expect((await call({ method: 'GET', path: '/plants/1' }, reader, asDelete)).status).toBe(200);
      expect((await call({ method: 'GET', path: '/plants/1' }, reader)).status).toBe(200);
    },
  );

  it('is asked for before the body is read', async () => {
    const token = await issuer.token({ scope: 'plants:read' });
    const answer = await service.request('POST', '/plants', {
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'text/plain' },
      body: 'x'.repeat(2_000_000),
    });
    expect(answer.status).toBe(403);
  });
});

describe('the scopes of a JWT', () => {
  const list = { method: 'GET', path: '/plants' };

  it.each([
    ['scope, separated by spaces', { scope: 'openid plants:read email' }, 200],
    ['scp, as a list', { scope: undefined, scp: ['plants:read', 'plants:write'] }, 200],
    ['scp, separated by spaces', { scope: undefined, scp: 'plants:read plants:write' }, 200],
    ['only others', { scope: 'openid email' }, 403],
    ['in another case', { scope: 'PLANTS:READ' }, 403],
    ['only the beginning', { scope: 'plants' }, 403],
    ['a wildcard', { scope: 'plants:* *' }, 403],
    ['an empty scope', { scope: '' }, 403],
    ['an empty list', { scope: undefined, scp: [] }, 403],
    ['scp beside an empty scope', { scope: '', scp: ['plants:read'] }, 403],
    ['no claim', { scope: undefined }, 403],
    ['separated by commas', { scope: 'openid,plants:read' }, 403],
    ['a list of other types', { scope: undefined, scp: [1, null, { a: 1 }] }, 403],
    ['a number', { scope: 7 }, 401],
    ['null', { scope: null }, 403],
  ])('%s', async (_, claims, status) => {
    expect((await call(list, await issuer.token(claims))).status).toBe(status);
  });

  it('without a claim are those of AUTH_JWT_DEFAULT_SCOPES', async () => {
    const own = await startTestService({
      environment: { ...jwtSettings(), AUTH_JWT_DEFAULT_SCOPES: 'plants:read' },
    });
    try {
      const token = await issuer.token({ scope: undefined });
      expect((await call(list, token, {}, own)).status).toBe(200);
      expect((await call({ method: 'DELETE', path: '/plants/1' }, token, {}, own)).status).toBe(
        403,
      );
      const withClaim = await issuer.token({ scope: 'openid' });
      expect((await call(list, withClaim, {}, own)).status).toBe(403);
      expect(warnings(own)).toEqual([]);
    } finally {
      await own.stop();
    }
  });

  it('make the start warn until somebody has decided what no claim means', async () => {
    expect(warnings(service)).toEqual([
      expect.stringContaining('AUTH_JWT_DEFAULT_SCOPES is not set'),
    ]);
    const own = await startTestService({
      environment: { ...jwtSettings(), AUTH_JWT_DEFAULT_SCOPES: 'none' },
    });
    try {
      expect(warnings(own)).toEqual([]);
      expect((await call(list, await issuer.token({ scope: undefined }), {}, own)).status).toBe(
        403,
      );
    } finally {
      await own.stop();
    }
  });
});

function warnings({ log }: TestService): unknown[] {
  return log.filter(({ msg }) => String(msg).startsWith('AUTH_JWT')).map(({ msg }) => msg);
}

describe('the log line of a request', () => {
  it('names the principal, and why credentials were refused', async () => {
    await call({ method: 'GET', path: '/plants' }, TOKEN);
    await call({ method: 'GET', path: '/plants' }, await issuer.token({ scope: 'plants:read' }));
    await call({ method: 'POST', path: '/plants' }, await issuer.token({ scope: 'plants:read' }));
    await call({ method: 'GET', path: '/plants' }, 'guessed');
    const lines = service.log.filter(({ msg }) => msg === 'request').slice(-4);
    expect(lines).toMatchObject([
      { status: 200, principalKind: 'static-token', principalId: 'AUTH_TOKEN' },
      { status: 200, principalKind: 'jwt', principalId: 'gardener' },
      { status: 403, principalKind: 'jwt', principalId: 'gardener', refusal: 'scope' },
      { status: 401, refusal: 'unknown-token' },
    ]);
    expect(lines.slice(0, 2).every((line) => !('refusal' in line))).toBe(true);
    expect(lines[3]).not.toHaveProperty('principalId');
  });
});

describe('the start', () => {
  @Controller('open')
  class Open {
    @Get()
    read(): void {}
  }

  @Controller('closed')
  class Closed {
    @Get()
    @RequireScope('plants:read')
    read(): void {}

    helper(): void {}
  }

  function start(controller: typeof Open | typeof Closed) {
    return Test.createTestingModule({
      imports: [DiscoveryModule],
      controllers: [controller],
      providers: [ScopeCheck],
    })
      .compile()
      .then((module) => module.init());
  }

  it('is refused if a route declares no scope', async () => {
    await expect(start(Open)).rejects.toThrow('Open.read needs @RequireScope()');
  });

  it('is not refused if each route declares one', async () => {
    await (await start(Closed)).close();
  });
});
