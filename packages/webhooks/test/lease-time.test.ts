import { afterEach, expect, it, vi } from 'vitest';
import { LeaseTime } from '../src/delivery/lease-time.js';

afterEach(() => vi.restoreAllMocks());

/** What is left when the two clocks have gone on by so many milliseconds. */
function leftAfter(monotonic: number, wall: number): number {
  const clocks = [vi.spyOn(performance, 'now'), vi.spyOn(Date, 'now')] as const;
  for (const clock of clocks) clock.mockReturnValue(0);
  const time = new LeaseTime();
  clocks[0].mockReturnValue(monotonic);
  clocks[1].mockReturnValue(wall);
  return time.left;
}

it('the time of leases ends when either clock says so', () => {
  expect(leftAfter(1_000, 1_000)).toBe(9_000);
  // The machine was suspended.
  expect(leftAfter(0, 10_000)).toBe(0);
  // The clock was set back.
  expect(leftAfter(10_000, -60_000)).toBe(0);
});
