import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ConnectionLimit } from '../../src/database/connections/connection-limit.js';

let pool: { max: number };
let limit: ConnectionLimit;

beforeEach(() => {
  vi.useFakeTimers();
  pool = { max: 10 };
  limit = new ConnectionLimit(pool);
});

afterEach(() => {
  limit.close();
  vi.useRealTimers();
});

it('lets the pool have as many connections as it has when the server rejects another, and one at least', () => {
  limit.noteLimit(3);
  expect(pool.max).toBe(3);
  expect(limit.isLowered).toBe(true);
  // One that was on its way counts.
  limit.noteConnection(4);
  expect(pool.max).toBe(4);
  limit.noteConnection(2);
  expect(pool.max).toBe(4);
  limit.noteLimit(0);
  expect(pool.max).toBe(1);
});

it('lets the pool try to get one more, after pauses that grow up to half a minute', () => {
  const pauses: number[] = [];
  for (let rejections = 0; rejections < 8; rejections += 1) {
    limit.noteLimit(3);
    const start = Date.now();
    while (pool.max === 3) vi.advanceTimersByTime(100);
    expect(pool.max).toBe(4);
    pauses.push(Date.now() - start);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

it('lets the pool have all when the server has room again, and begins anew', () => {
  limit.noteLimit(3);
  limit.noteLimit(3);
  vi.advanceTimersByTime(1_000);
  limit.noteConnection(4);
  expect(pool.max).toBe(10);
  expect(limit.isLowered).toBe(false);
  limit.noteLimit(9);
  vi.advanceTimersByTime(1_000);
  expect(pool.max).toBe(10);
});
