import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { beforeEach, expect, it, vi } from 'vitest';
import { AuthGuard } from '../../src/auth/auth.guard.js';
import { Authenticator } from '../../src/auth/authenticator.js';
import type { Principal } from '../../src/auth/principal.js';
import { RateLimits } from '../../src/auth/rate-limits.js';
import { InsufficientScopeError } from '../../src/auth/credentials.error.js';
import { REQUIRED_SCOPES } from '../../src/auth/scopes/require-scope.decorator.js';
import type { BearerVerifier } from '../../src/auth/token-verifier.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { Metrics } from '../../src/observability/metrics.js';
import { IDENTITY } from '../support/identity.js';

const READER: Principal = { kind: 'jwt', id: 'reader', scopes: new Set(['tools:read']) };
const OTHER: Principal = { ...READER, scopes: new Set() };

class Routes {
  @REQUIRED_SCOPES(['tools:read'])
  read(this: void): void {}
}

const verify = vi.fn<BearerVerifier['verify']>();
let guard: AuthGuard;
let metrics: Metrics;

beforeEach(() => {
  verify.mockReset();
  metrics = new Metrics(IDENTITY);
  const limits = new RateLimits({ rateLimits: { perPrincipal: 0 } }, metrics);
  guard = new AuthGuard(new Authenticator([{ verify }]), new Reflector(), limits, metrics);
});

/** A request with these Authorization header fields, and what the guard makes of it. */
function request(...authorization: readonly string[]) {
  const received = {} as Request;
  const rawHeaders = authorization.flatMap((field) => ['Authorization', field]);
  Object.assign(received, { headers: { authorization: authorization[0] }, rawHeaders });
  const context = {
    getHandler: () => Routes.prototype.read,
    switchToHttp: () => ({ getRequest: () => received }),
  } as unknown as ExecutionContext;
  return { received, activate: async () => guard.canActivate(context) };
}

/** How often credentials were refused, by reason. */
async function counts(): Promise<Record<string, number>> {
  const series = (await metrics.text()).matchAll(/_credentials_total\{reason="(.*)"\} (\d+)/g);
  const all = [...series].map(([, reason = '', count]) => [reason, Number(count)] as const);
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

it.each([
  ['no credentials', [], ERRORS.noCredentials, 'no-credentials'],
  ['another scheme', ['Basic abc'], ERRORS.noCredentials, 'no-credentials'],
  ['no token', ['Bearer'], ERRORS.tokenNotValid, 'malformed'],
  ['two headers', ['Bearer abc', 'Bearer abc'], ERRORS.tokenNotValid, 'several-headers'],
])('%s are refused and counted once, and nobody verifies them', async (_, fields, kind, reason) => {
  const { received, activate } = request(...fields);
  await expect(activate()).rejects.toMatchObject({ kind, reason });
  expect(received).toMatchObject({ credentialsErrorReason: reason });
  expect(verify).not.toHaveBeenCalled();
  expect(await counts()).toEqual({ [reason]: 1 });
});

it('a token can be verified again, which counts nothing that is refused then', async () => {
  const { received, activate } = request('Bearer abc');
  verify.mockReturnValueOnce(READER).mockReturnValueOnce(READER).mockReturnValueOnce(OTHER);
  await activate();
  const again = () => guard.requireValidToken(received);
  await again();
  await expect(again()).rejects.toBeInstanceOf(InsufficientScopeError);
  expect(received.credentialsErrorReason).toBe('scope');
  await expect(again()).rejects.toMatchObject({ reason: 'unknown-token' });
  expect(received.credentialsErrorReason).toBe('unknown-token');
  const outage = new ServiceException(ERRORS.databaseUnavailable);
  verify.mockRejectedValue(outage);
  await expect(again()).rejects.toBe(outage);
  expect(await counts()).toEqual({});
});

it.each([
  ['at once', OTHER],
  ['later', Promise.resolve(OTHER)],
])('a token without the scope, that is known %s, is refused and counted once', async (_, known) => {
  verify.mockReturnValue(known);
  await expect(request('Bearer abc').activate()).rejects.toBeInstanceOf(InsufficientScopeError);
  expect(await counts()).toEqual({ scope: 1 });
});
