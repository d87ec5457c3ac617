import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Principal } from '../../src/auth/principal.js';
import { RateLimitedError, RateLimits } from '../../src/auth/rate-limits.js';
import { Metrics } from '../../src/observability/metrics.js';
import { IDENTITY } from '../support/identity.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let milliseconds: number;

beforeEach(() => {
  milliseconds = 5_000;
  vi.spyOn(performance, 'now').mockImplementation(() => milliseconds);
});

afterEach(() => vi.restoreAllMocks());

const GARDENER: Principal = { kind: 'jwt', id: 'gardener', scopes: 'all' };

function limitOf(perPrincipal: number) {
  const limits = new RateLimits({ rateLimits: { perPrincipal } }, new Metrics(IDENTITY));
  return {
    count: (changes: Partial<Principal> = {}) => {
      try {
        return { ...limits.countRequest({ ...GARDENER, ...changes })!, isExceeded: false };
      } catch (error) {
        if (!(error instanceof RateLimitedError)) throw error;
        return { ...error.usage, isExceeded: true };
      }
    },
  };
}

describe('the limits of the service', () => {
  it('permit each principal the quota, and tell what is left', () => {
    const limit = limitOf(3);
    const usage = { quota: 3, window: 60, remaining: 2, reset: 60, isExceeded: false };
    expect(limit.count()).toEqual(usage);
    milliseconds += 10_001;
    expect(limit.count()).toEqual({ ...usage, remaining: 1, reset: 50 });
    expect(limit.count()).toEqual({ ...usage, remaining: 0, reset: 50 });
    expect(limit.count()).toEqual({ ...usage, remaining: 0, reset: 50, isExceeded: true });
    expect(limit.count({ id: 'other' })).toEqual(usage);
  });

  it('tell principals of different kinds apart', () => {
    const limit = limitOf(1);
    limit.count();
    expect(limit.count({ kind: 'issued-token' }).isExceeded).toBe(false);
    expect(limit.count().isExceeded).toBe(true);
  });

  it('begin anew for a client that has waited as long as it was told', () => {
    const limit = limitOf(1);
    limit.count();
    milliseconds += 12_345.6;
    const { isExceeded, reset } = limit.count();
    expect(isExceeded).toBe(true);
    milliseconds += reset * 1_000;
    expect(limit.count()).toMatchObject({ remaining: 0, reset: 60, isExceeded: false });
  });

  it('last as long as their window, however many requests are refused', () => {
    const limit = limitOf(1);
    for (let i = 0; i < 60; i++, milliseconds += 999) {
      expect(limit.count().isExceeded).toBe(i > 0);
    }
    milliseconds = 5_000 + 59_999.9;
    expect(limit.count()).toMatchObject({ reset: 1, isExceeded: true });
    milliseconds = 5_000 + 60_000;
    expect(limit.count().isExceeded).toBe(false);
  });

  it('keep their memory bounded in a flood of principals, and remember who comes often', () => {
    // The spy would keep a record of each call.
    vi.restoreAllMocks();
    const limit = limitOf(1_000_000);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 100_000; i++) {
      if (i % 5_000 === 0) limit.count({ id: 'often' });
      limit.count({ id: `jwt ${i}` });
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
    expect(limit.count({ id: 'often' }).remaining).toBe(1_000_000 - 21);
    // With it, there are 10,000: the last 9,999 of the flood are known, and the one before is not.
    expect(limit.count({ id: 'jwt 90001' }).remaining).toBe(1_000_000 - 2);
    expect(limit.count({ id: 'jwt 90000' }).remaining).toBe(1_000_000 - 1);
  });
});
