import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CircuitBreaker } from '../../src/database/connections/circuit-breaker.js';

interface Probe {
  readonly signal: AbortSignal;
  succeed(): void;
  fail(reason: string): void;
}

let probes: Probe[];
let events: string[];
let breaker: CircuitBreaker;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  probes = [];
  events = [];
  breaker = new CircuitBreaker({
    probe: (signal) =>
      new Promise((resolve, reject) => {
        const fail = (reason: string) => reject(new Error(reason));
        // As a connection that is closed.
        signal.addEventListener('abort', () => fail('aborted'));
        probes.push({ signal, succeed: resolve, fail });
      }),
    opened: (reason) => events.push(String(reason)),
    closed: () => events.push('closed'),
  });
});

afterEach(() => {
  breaker.stop();
  vi.useRealTimers();
});

/** Lets time pass, and then everything that waits for a promise. */
async function pass(milliseconds: number): Promise<void> {
  vi.advanceTimersByTime(milliseconds);
  await new Promise((resolve) => setImmediate(resolve));
}

describe('a suspected outage', () => {
  it('is none if the probe succeeds', async () => {
    breaker.suspect(new Error('reset'), false);
    probes[0]!.succeed();
    await pass(0);
    await pass(10_000);
    expect(probes).toHaveLength(1);
    expect(events).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('begins with a failed probe, is probed 250 ms after each, and ends with a probe that succeeds', async () => {
    breaker.suspect(new Error('reset'), false);
    probes[0]!.fail('refused');
    await pass(0);
    expect(breaker.isOpen).toBe(true);
    await pass(249);
    expect(probes).toHaveLength(1);
    await pass(1);
    expect(probes).toHaveLength(2);
    probes[1]!.fail('refused');
    await pass(0);
    await pass(250);
    expect(probes).toHaveLength(3);
    probes[2]!.succeed();
    await pass(0);
    expect(events).toEqual(['Error: refused', 'closed']);
    expect(breaker.isOpen).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is probed again although a probe hangs, and ends with the first probe that succeeds', async () => {
    breaker.suspect(new Error('timeout'), true);
    await pass(500);
    expect(probes).toHaveLength(2);
    probes[1]!.succeed();
    await pass(0);
    expect(events).toEqual(['Error: timeout', 'closed']);
    expect(probes[0]!.signal.aborted).toBe(true);
    await pass(10_000);
    expect(probes).toHaveLength(2);
    expect(events).toHaveLength(2);
  });

  it('has at most four probes that hang', async () => {
    breaker.suspect(new Error('timeout'), true);
    for (let second = 0; second < 10; second += 1) await pass(500);
    expect(probes).toHaveLength(4);
    // An old probe that ends makes room, and does not start a second series.
    probes[0]!.fail('timeout');
    await pass(0);
    await pass(500);
    expect(probes).toHaveLength(5);
    await pass(500);
    expect(probes).toHaveLength(5);
  });

  it('is no longer probed when the pool closes', async () => {
    breaker.suspect(new Error('timeout'), true);
    await pass(500);
    breaker.stop();
    expect(probes.every(({ signal }) => signal.aborted)).toBe(true);
    await pass(10_000);
    expect(probes).toHaveLength(2);
    expect(events).toEqual(['Error: timeout']);
    breaker.suspect(new Error('again'), true);
    expect(probes).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
