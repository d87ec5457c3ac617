import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Principal } from '../../src/auth/principal.js';
import { RateLimitedError } from '../../src/auth/rate-limited.error.js';
import { RateLimits } from '../../src/auth/rate-limits.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { toAnswer } from '../../src/http/errors/to-answer.js';
import { Metrics } from '../../src/observability/metrics.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let milliseconds: number;

beforeEach(() => {
  milliseconds = 5_000;
  vi.spyOn(performance, 'now').mockImplementation(() => milliseconds);
});

afterEach(() => vi.restoreAllMocks());

const GARDENER: Principal = { kind: 'jwt', id: 'gardener', scopes: 'all' };

function limitsWith(perPrincipal: number) {
  const metrics = new Metrics();
  return { metrics, limits: new RateLimits({ rateLimits: { perPrincipal } }, metrics) };
}

function limitOf(quota: number) {
  const { limits } = limitsWith(quota);
  return {
    count: (id: string) => {
      try {
        return { ...limits.countRequest({ ...GARDENER, id })!, isExceeded: false };
      } catch (error) {
        if (!(error instanceof RateLimitedError)) throw error;
        return { ...error.usage, isExceeded: true };
      }
    },
  };
}

describe('a rate limit', () => {
  it('permits each key its quota, and tells what is left', () => {
    const limit = limitOf(3);
    expect(limit.count('a')).toEqual({
      quota: 3,
      window: 60,
      remaining: 2,
      reset: 60,
      isExceeded: false,
    });
    milliseconds += 10_001;
    expect(limit.count('a')).toMatchObject({ remaining: 1, reset: 50, isExceeded: false });
    expect(limit.count('a')).toMatchObject({ remaining: 0, reset: 50, isExceeded: false });
    expect(limit.count('a')).toMatchObject({ remaining: 0, reset: 50, isExceeded: true });
    expect(limit.count('b')).toMatchObject({ remaining: 2, reset: 60, isExceeded: false });
  });

  it('begins anew for a client that has waited as long as it was told', () => {
    const limit = limitOf(1);
    limit.count('a');
    milliseconds += 12_345.6;
    const { isExceeded, reset } = limit.count('a');
    expect(isExceeded).toBe(true);
    milliseconds += reset * 1_000;
    expect(limit.count('a')).toMatchObject({ remaining: 0, reset: 60, isExceeded: false });
  });

  it('lasts as long as its window, however many requests are refused', () => {
    const limit = limitOf(1);
    for (let i = 0; i < 60; i++, milliseconds += 999) {
      expect(limit.count('a').isExceeded).toBe(i > 0);
    }
    milliseconds = 5_000 + 60_000;
    expect(limit.count('a').isExceeded).toBe(false);
  });

  it('tells at least one second to wait', () => {
    const limit = limitOf(1);
    limit.count('a');
    milliseconds += 59_999.9;
    expect(limit.count('a')).toMatchObject({ reset: 1, isExceeded: true });
  });

  it('keeps its memory bounded in a flood of keys, and remembers who comes often', () => {
    // The spy would keep a record of each call.
    vi.restoreAllMocks();
    const limit = limitOf(1_000_000);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 100_000; i++) {
      if (i % 5_000 === 0) limit.count('often');
      limit.count(`jwt ${i}`);
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
    expect(limit.count('often').remaining).toBe(1_000_000 - 21);
    // With it, there are 10,000: the last 9,999 of the flood are known, and the one before is not.
    expect(limit.count('jwt 90001').remaining).toBe(1_000_000 - 2);
    expect(limit.count('jwt 90000').remaining).toBe(1_000_000 - 1);
  });
});

describe('the limits of the service', () => {
  it('are off with 0', async () => {
    const { limits, metrics } = limitsWith(0);
    for (let i = 0; i < 1_000; i++) {
      expect(limits.countRequest(GARDENER)).toBeUndefined();
    }
    expect(await metrics.text()).toContain('plant_store_rate_limited_total{limit="principal"} 0');
  });

  it('tell principals of different kinds apart', () => {
    const { limits } = limitsWith(1);
    limits.countRequest(GARDENER);
    expect(limits.countRequest({ ...GARDENER, kind: 'issued-token' })).toBeDefined();
    expect(() => limits.countRequest({ ...GARDENER })).toThrow(RateLimitedError);
  });

  it('count what they refuse, and say so', async () => {
    const { limits, metrics } = limitsWith(2);
    const count = () => limits.countRequest(GARDENER);
    count();
    count();
    const refused = (): unknown => {
      try {
        return count();
      } catch (error) {
        return error;
      }
    };
    const failure = refused();
    expect(failure).toBeInstanceOf(RateLimitedError);
    expect(toAnswer(failure)).toEqual({
      status: 429,
      headers: {
        'Retry-After': '60',
        'RateLimit-Policy': '"principal";q=2;w=60',
        RateLimit: '"principal";r=0;t=60',
      },
      body: {
        error: ERRORS.rateLimited.number,
        message: 'the owner of the token has sent more than 2 requests in 60 seconds',
      },
    });
    expect(await metrics.text()).toContain('plant_store_rate_limited_total{limit="principal"} 1');
  });
});
