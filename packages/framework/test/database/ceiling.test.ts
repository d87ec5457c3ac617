import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Ceiling } from '../../src/database/connections/ceiling.js';

let pool: { max: number };
let ceiling: Ceiling;

beforeEach(() => {
  vi.useFakeTimers();
  pool = { max: 10 };
  ceiling = new Ceiling(pool);
});

afterEach(() => {
  ceiling.close();
  vi.useRealTimers();
});

it('lets the pool have as many connections as it has when the server refuses another, and one at least', () => {
  ceiling.noteLimit(3);
  expect(pool.max).toBe(3);
  expect(ceiling.isLowered).toBe(true);
  // One that was on its way counts.
  ceiling.noteConnection(4);
  expect(pool.max).toBe(4);
  ceiling.noteConnection(2);
  expect(pool.max).toBe(4);
  ceiling.noteLimit(0);
  expect(pool.max).toBe(1);
});

it('lets the pool try to get one more, after pauses that grow up to half a minute', () => {
  const pauses: number[] = [];
  for (let refusals = 0; refusals < 8; refusals += 1) {
    ceiling.noteLimit(3);
    const start = Date.now();
    while (pool.max === 3) vi.advanceTimersByTime(100);
    expect(pool.max).toBe(4);
    pauses.push(Date.now() - start);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

it('lets the pool have all when the server has room again, and begins anew', () => {
  ceiling.noteLimit(3);
  ceiling.noteLimit(3);
  vi.advanceTimersByTime(1_000);
  ceiling.noteConnection(4);
  expect(pool.max).toBe(10);
  expect(ceiling.isLowered).toBe(false);
  ceiling.noteLimit(9);
  vi.advanceTimersByTime(1_000);
  expect(pool.max).toBe(10);
});
