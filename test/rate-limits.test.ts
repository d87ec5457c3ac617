import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import { clientNetwork } from '../src/auth/client-network.js';
import type { Principal } from '../src/auth/principal.js';
import { RateLimit } from '../src/auth/rate-limit.js';
import { RateLimitedError } from '../src/auth/rate-limited.error.js';
import { RateLimits } from '../src/auth/rate-limits.js';
import { ERRORS } from '../src/errors/common-errors.js';
import { toAnswer } from '../src/http/errors/to-answer.js';
import { Metrics } from '../src/observability/metrics.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let milliseconds: number;

beforeEach(() => {
  milliseconds = 5_000;
});

function limitOf(quota: number): RateLimit {
  return new RateLimit('failed-authentication', quota, () => milliseconds);
}

describe('a rate limit', () => {
  it('permits each key its quota, and tells what is left', () => {
    const limit = limitOf(3);
    expect(limit.count('a')).toEqual({
      limit: 'failed-authentication',
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

  it('keeps its memory bounded in a flood of addresses, and remembers who comes often', () => {
    const limit = limitOf(1_000_000);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 100_000; i++) {
      if (i % 5_000 === 0) limit.count('often');
      limit.count(clientNetwork(`2001:db8:${(i >> 8).toString(16)}:${(i & 255).toString(16)}::1`));
    }
    expect(limit.size).toBe(10_000);
    expect(limit.count('often').remaining).toBe(1_000_000 - 21);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  });
});

describe('the network of a client', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['192.0.2.7:443', 'unknown'],
    ['[2001:db8::1]', 'unknown'],
    ['192.0.2', 'unknown'],
    ['long '.repeat(3_000), 'unknown'],
  ])('%.40s is %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });
});

describe('the limits of the service', () => {
  const GARDENER: Principal = { kind: 'jwt', id: 'gardener', scopes: 'all' };

  function limitsWith(rateLimits: { perPrincipal?: number; failedPerAddress?: number }) {
    const metrics = new Metrics();
    const settings = { perPrincipal: 0, failedPerAddress: 0, ...rateLimits };
    return { metrics, limits: new RateLimits({ rateLimits: settings }, metrics) };
  }

  it('are off with 0', async () => {
    const { limits, metrics } = limitsWith({});
    for (let i = 0; i < 1_000; i++) {
      expect(limits.countRequest(GARDENER)).toBeUndefined();
      limits.countFailure('192.0.2.7');
    }
    expect(await metrics.text()).toContain(
      'plant_store_rate_limited_total{limit="failed-authentication"} 0',
    );
  });

  it('tell principals of different kinds apart', () => {
    const { limits } = limitsWith({ perPrincipal: 1 });
    limits.countRequest(GARDENER);
    expect(limits.countRequest({ ...GARDENER, kind: 'issued-token' })).toBeDefined();
    expect(() => limits.countRequest({ ...GARDENER })).toThrow(RateLimitedError);
  });

  it('are those of an IPv6 network', () => {
    const { limits } = limitsWith({ failedPerAddress: 1 });
    limits.countFailure('2001:db8::1');
    limits.countFailure('2001:db8:0:1::1');
    expect(() => limits.countFailure('2001:db8::2')).toThrow(RateLimitedError);
  });

  it.each([
    [
      'principal',
      (limits: RateLimits) => limits.countRequest(GARDENER),
      'the owner of the token has sent more than 2 requests in 60 seconds',
    ],
    [
      'failed-authentication',
      (limits: RateLimits) => limits.countFailure('192.0.2.7'),
      'this address has sent credentials that are not valid in more than 2 requests in 60 seconds',
    ],
  ] as const)('count what %s refuses, and say so', async (name, count, message) => {
    const { limits, metrics } = limitsWith({ perPrincipal: 2, failedPerAddress: 2 });
    count(limits);
    count(limits);
    const refused = (): unknown => {
      try {
        return count(limits);
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
        'RateLimit-Policy': `"${name}";q=2;w=60`,
        RateLimit: `"${name}";r=0;t=60`,
      },
      body: { error: ERRORS.rateLimited.number, message },
    });
    expect(await metrics.text()).toContain(`plant_store_rate_limited_total{limit="${name}"} 1`);
  });
});
