import { Controller, Get } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DiscoveryModule } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RequireScope } from '../../packages/framework/src/auth/scopes/require-scope.decorator.js';
import { ScopeCheck } from '../../packages/framework/src/auth/scopes/scope-check.js';
import { CONFIG } from '../../packages/framework/src/config/config.module.js';
import { LOGGER } from '../../packages/framework/src/observability/logger.js';
import { OPERATIONS } from '../support/operations.js';
import type { Operation } from '../support/operations.js';
import { AUDIENCE } from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const SCOPES = [...new Set(OPERATIONS.map(({ scope }) => scope))];

let issuer: TestIssuer;
let service: TestService;

beforeAll(async () => {
  issuer = await startTestIssuer();
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
  of: TestService = service,
): Promise<Answer> {
  const headers = { Authorization: `Bearer ${token}` };
  return of.request(method, path.replaceAll(/\{\w+\}/g, '1'), { headers });
}

const CALLS = OPERATIONS.map((operation) => [operation.method, operation.path, operation] as const);

describe('the scope of an operation', () => {
  it('is written in the document: read for what only reads, write for the rest', () => {
    for (const { method, path, scope } of OPERATIONS) {
      // Webhooks have one scope.
      if (path.startsWith('/webhooks')) expect(scope).toBe('webhooks:manage');
      else expect(scope).toMatch(method === 'GET' ? /^[a-z-]+:read$/ : /^[a-z-]+:write$/);
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

  it.each(CALLS)('%s %s is enough, and the static token has it', async (_, __, operation) => {
    for (const token of [await issuer.token({ scope: operation.scope }), TOKEN]) {
      expect([401, 403]).not.toContain((await call(operation, token)).status);
    }
  });

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
    const own = await startWith('plants:read');
    const token = await issuer.token({ scope: undefined });
    expect((await call(list, token, own)).status).toBe(200);
    expect((await call({ method: 'DELETE', path: '/plants/1' }, token, own)).status).toBe(403);
    expect((await call(list, await issuer.token({ scope: 'openid' }), own)).status).toBe(403);
    expect(warnings(own)).toEqual([]);
  });

  it('make the start warn until somebody has decided what no claim means', async () => {
    expect(warnings(service)).toEqual([
      expect.stringContaining('AUTH_JWT_DEFAULT_SCOPES is not set'),
    ]);
    const own = await startWith('none');
    expect(warnings(own)).toEqual([]);
    expect((await call(list, await issuer.token({ scope: undefined }), own)).status).toBe(403);
  });

  it('without a claim may be any, and the start warns of those that no operation requires', async () => {
    const own = await startWith('plants:read tools:lend Plants:Write');
    expect((await call(list, await issuer.token({ scope: undefined }), own)).status).toBe(200);
    expect(warnings(own)).toEqual([
      'AUTH_JWT_DEFAULT_SCOPES has scopes that no route requires: tools:lend Plants:Write',
    ]);
  });

  async function startWith(scopes: string): Promise<TestService> {
    const environment = { ...jwtSettings(), AUTH_JWT_DEFAULT_SCOPES: scopes };
    const own = await startTestService({ environment });
    onTestFinished(() => own.stop());
    return own;
  }

  function warnings({ log }: TestService): unknown[] {
    return log.filter(({ msg }) => String(msg).startsWith('AUTH_JWT')).map(({ msg }) => msg);
  }
});

describe('the log line of a request', () => {
  it('names the principal, and why credentials were refused', async () => {
    const list = { method: 'GET', path: '/plants' };
    const reader = await issuer.token({ scope: 'plants:read' });
    await call(list, TOKEN);
    await call(list, reader);
    await call({ ...list, method: 'POST' }, reader);
    await call(list, 'guessed');
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

  async function start(controller: typeof Open | typeof Closed) {
    const module = {
      imports: [DiscoveryModule],
      controllers: [controller],
      providers: [
        ScopeCheck,
        { provide: CONFIG, useValue: { auth: {} } },
        { provide: LOGGER, useValue: {} },
      ],
    };
    return (await Test.createTestingModule(module).compile()).init();
  }

  it('is refused if a route declares no scope', async () => {
    await expect(start(Open)).rejects.toThrow('Open.read needs @RequireScope()');
    await (await start(Closed)).close();
  });

  it.each(['plants: read', 'plants:read,plants:write', 'plants:"read"', 'plants:léger'] as const)(
    'is refused if a route requires %s, which no token can have',
    (scope) => {
      expect(() => RequireScope(scope)).toThrow(`@RequireScope(${JSON.stringify(scope)})`);
    },
  );
});
