import type { ExecutionContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AuthGuard } from '../src/auth/auth.guard.js';
import { TOKEN_VERIFIERS } from '../src/auth/token-verifier.js';
import { ERRORS } from '../src/errors/common-errors.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';

const first = { verify: vi.fn<(token: string) => boolean>() };
const second = { verify: vi.fn<(token: string) => Promise<boolean>>() };
let guard: AuthGuard;

beforeAll(async () => {
  const module = await Test.createTestingModule({
    providers: [AuthGuard, { provide: TOKEN_VERIFIERS, useValue: [first, second] }],
  }).compile();
  guard = module.get(AuthGuard);
});

beforeEach(() => {
  first.verify.mockReset().mockReturnValue(false);
  second.verify.mockReset().mockResolvedValue(false);
});

/** A request with these Authorization header fields. */
function request(...credentials: readonly string[]): ExecutionContext {
  const received = {
    headersDistinct: credentials.length === 0 ? {} : { authorization: credentials },
  };
  return {
    switchToHttp: () => ({ getRequest: () => received }),
  } as unknown as ExecutionContext;
}

describe('the guard', () => {
  it('accepts synchronously a token that the first verifier accepts', () => {
    first.verify.mockReturnValue(true);
    expect(guard.canActivate(request('Bearer abc'))).toBe(true);
    expect(first.verify).toHaveBeenCalledWith('abc');
    expect(second.verify).not.toHaveBeenCalled();
  });

  it('asks the next verifier if the first does not accept the token', async () => {
    second.verify.mockResolvedValue(true);
    await expect(guard.canActivate(request('bearer abc'))).resolves.toBe(true);
  });

  it('refuses a token that no verifier accepts', async () => {
    await expect(guard.canActivate(request('Bearer abc'))).rejects.toMatchObject({
      kind: ERRORS.tokenNotValid,
    });
  });

  it('passes on the failure of a verifier', async () => {
    const outage = new PlantStoreError(ERRORS.tokenIssuerUnavailable);
    second.verify.mockRejectedValue(outage);
    await expect(guard.canActivate(request('Bearer abc'))).rejects.toBe(outage);
  });

  it.each([
    ['no credentials', [], ERRORS.noCredentials],
    ['another scheme', ['Basic abc'], ERRORS.noCredentials],
    ['no token', ['Bearer'], ERRORS.tokenNotValid],
    ['two headers', ['Bearer abc', 'Bearer abc'], ERRORS.tokenNotValid],
  ])('asks no verifier about %s', (_, credentials, kind) => {
    expect(() => guard.canActivate(request(...credentials))).toThrow(
      expect.objectContaining({ kind }) as Error,
    );
    expect(first.verify).not.toHaveBeenCalled();
  });
});
