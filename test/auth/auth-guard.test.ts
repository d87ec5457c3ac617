import type { ExecutionContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AuthGuard } from '../../src/auth/auth.guard.js';
import { Authenticator } from '../../src/auth/authenticator.js';
import type { Principal } from '../../src/auth/principal.js';
import { RateLimits } from '../../src/auth/rate-limits.js';
import { InsufficientScopeError, CredentialsError } from '../../src/auth/credentials.error.js';
import { REQUIRED_SCOPE } from '../../src/auth/require-scope.decorator.js';
import { TOKEN_VERIFIERS } from '../../src/auth/token-verifier.js';
import { CONFIG } from '../../src/config/config.module.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { PlantStoreError } from '../../src/errors/plant-store.error.js';
import { Metrics } from '../../src/observability/metrics.js';

const OPERATOR: Principal = { kind: 'static-token', id: 'operator', scopes: 'all' };
const READER: Principal = { kind: 'jwt', id: 'reader', scopes: new Set(['plants:read']) };

const first = { verify: vi.fn<(token: string) => Principal | undefined>() };
const second = { verify: vi.fn<(token: string) => Promise<Principal | undefined>>() };
let guard: AuthGuard;
let metrics: Metrics;

class Routes {
  @REQUIRED_SCOPE('plants:read')
  read(): void {}

  @REQUIRED_SCOPE('plants:write')
  write(): void {}
}

beforeAll(async () => {
  const module = await Test.createTestingModule({
    providers: [
      AuthGuard,
      Authenticator,
      Metrics,
      RateLimits,
      { provide: CONFIG, useValue: { rateLimits: { perPrincipal: 0 } } },
      { provide: TOKEN_VERIFIERS, useValue: [first, second] },
    ],
  }).compile();
  guard = module.get(AuthGuard);
  metrics = module.get(Metrics);
});

beforeEach(() => {
  first.verify.mockReset().mockReturnValue(undefined);
  second.verify.mockReset().mockResolvedValue(undefined);
});

interface Received {
  readonly headersDistinct: { readonly authorization?: readonly string[] };
  readonly principal?: Principal;
  readonly credentialsFailure?: string;
  readonly requireValidToken?: () => Promise<void>;
}

/** A request with these Authorization header fields, for a route. */
function request(credentials: readonly string[], route: keyof Routes = 'read') {
  const received: Received = {
    headersDistinct: credentials.length === 0 ? {} : { authorization: credentials },
  };
  const context = {
    getHandler: () => Routes.prototype[route],
    switchToHttp: () => ({ getRequest: () => received }),
  } as unknown as ExecutionContext;
  return { received, context };
}

async function refusalOf(context: ExecutionContext): Promise<unknown> {
  return (async () => guard.canActivate(context))().then(
    () => undefined,
    (failure: unknown) => failure,
  );
}

describe('the guard', () => {
  it('accepts synchronously a token that the first verifier knows, and notes whose it is', () => {
    first.verify.mockReturnValue(OPERATOR);
    const { context, received } = request(['Bearer abc']);
    expect(guard.canActivate(context)).toBe(true);
    expect(received.principal).toBe(OPERATOR);
    expect(first.verify).toHaveBeenCalledWith('abc');
    expect(second.verify).not.toHaveBeenCalled();
  });

  it('asks the next verifier if the first does not know the token', async () => {
    second.verify.mockResolvedValue(READER);
    const { context, received } = request(['bearer abc']);
    await expect(guard.canActivate(context)).resolves.toBe(true);
    expect(received.principal).toBe(READER);
  });

  it('refuses a token that no verifier knows, and notes why', async () => {
    const { context, received } = request(['Bearer abc']);
    expect(await refusalOf(context)).toMatchObject({ kind: ERRORS.tokenNotValid });
    expect(received).toMatchObject({ credentialsFailure: 'unknown-token' });
    expect(received.principal).toBeUndefined();
  });

  it.each(['read', 'write'] as const)(
    'lets a principal with all scopes call a route that needs one to %s',
    (route) => {
      first.verify.mockReturnValue(OPERATOR);
      expect(guard.canActivate(request(['Bearer abc'], route).context)).toBe(true);
    },
  );

  it.each([
    ['at once', () => void first.verify.mockReturnValue(READER)],
    ['later', () => void second.verify.mockResolvedValue(READER)],
  ])('refuses a principal without the scope of the route that is known %s', async (_, know) => {
    know();
    const { context, received } = request(['Bearer abc'], 'write');
    const failure = await refusalOf(context);
    expect(failure).toBeInstanceOf(InsufficientScopeError);
    expect(failure).toMatchObject({
      kind: ERRORS.scopeMissing,
      scope: 'plants:write',
      message: 'the operation needs the scope plants:write',
    });
    expect(received).toMatchObject({ credentialsFailure: 'scope', principal: READER });
  });

  it('counts each refusal once, by its reason', async () => {
    const count = async () =>
      Number(/_credentials_total\{reason="scope"\} (\d+)/.exec(await metrics.text())?.[1]);
    const before = await count();
    first.verify.mockReturnValue(READER);
    await refusalOf(request(['Bearer abc'], 'write').context);
    expect(await count()).toBe(before + 1);
  });

  it('verifies the token again, without counting what it then refuses', async () => {
    first.verify.mockReturnValueOnce(READER).mockReturnValueOnce(READER);
    const { context, received } = request(['Bearer abc']);
    await guard.canActivate(context);
    const again = received.requireValidToken!;
    await again();
    const before = await metrics.text();
    const lost: Principal = { ...READER, scopes: new Set() };
    first.verify.mockReturnValueOnce(lost);
    await expect(again()).rejects.toBeInstanceOf(InsufficientScopeError);
    expect(received.credentialsFailure).toBe('scope');
    await expect(again()).rejects.toMatchObject({ reason: 'unknown-token' });
    expect(received.credentialsFailure).toBe('unknown-token');
    const outage = new PlantStoreError(ERRORS.databaseUnavailable);
    second.verify.mockRejectedValue(outage);
    await expect(again()).rejects.toBe(outage);
    const counts = (text: string) => text.match(/^plant_store_refused_credentials.*$/gm);
    expect(counts(await metrics.text())).toEqual(counts(before));
  });

  it('passes on the failure of a verifier', async () => {
    const outage = new PlantStoreError(ERRORS.tokenIssuerUnavailable);
    second.verify.mockRejectedValue(outage);
    const { context, received } = request(['Bearer abc']);
    expect(await refusalOf(context)).toBe(outage);
    expect(received.credentialsFailure).toBeUndefined();
  });

  it.each([
    ['no credentials', [], ERRORS.noCredentials, 'no-credentials'],
    ['another scheme', ['Basic abc'], ERRORS.noCredentials, 'no-credentials'],
    ['no token', ['Bearer'], ERRORS.tokenNotValid, 'malformed'],
    ['two headers', ['Bearer abc', 'Bearer abc'], ERRORS.tokenNotValid, 'several-headers'],
  ])('asks no verifier about %s', async (_, credentials, kind, reason) => {
    const failure = await refusalOf(request(credentials).context);
    expect(failure).toBeInstanceOf(CredentialsError);
    expect(failure).toMatchObject({ kind, reason });
    expect(first.verify).not.toHaveBeenCalled();
  });
});
