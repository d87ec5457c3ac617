import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOnlyStandby, StandbyError } from '../../src/database/database-error.js';
import { findPrimary } from '../../src/database/connections/find-primary.js';

const HOSTS = [
  'postgres://u:secret@a/d',
  'postgres://u:secret@b:6/d',
  'postgres://u:secret@[::1]/d',
];

interface Try {
  readonly url: string;
  readonly signal: AbortSignal;
  succeed(timeline: number): void;
  fail(error: Error): void;
}

let tries: Try[];
let end: AbortController;

beforeEach(() => {
  tries = [];
  end = new AbortController();
});

afterEach(() => end.abort());

function find(urls: readonly string[] = HOSTS): Promise<string> {
  return findPrimary(
    urls,
    (url, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        tries.push({ url, signal, succeed: resolve, fail: reject });
      }),
    end.signal,
  );
}

describe('the search for the primary', () => {
  it('tries all hosts at once, and ends when all have answered', async () => {
    const found = find();
    expect(tries.map(({ url }) => url)).toEqual(HOSTS);
    tries[0]!.fail(new StandbyError());
    tries[2]!.succeed(1);
    tries[1]!.fail(new Error('refused'));
    expect(await found).toBe(HOSTS[2]);
  });

  it('takes the primary with the newest timeline, whichever answers first', async () => {
    const found = find();
    tries[0]!.succeed(3);
    tries[1]!.succeed(11);
    tries[2]!.succeed(4);
    expect(await found).toBe(HOSTS[1]);
  });

  it('takes the first of several primaries with the same timeline', async () => {
    const found = find();
    for (const index of [2, 1, 0]) tries[index]!.succeed(0);
    expect(await found).toBe(HOSTS[0]);
  });

  it('waits 500 ms for hosts that answer later than a primary', async () => {
    const start = performance.now();
    const found = find();
    tries[2]!.succeed(1);
    tries[1]!.succeed(2);
    expect(await found).toBe(HOSTS[1]);
    // Timers may fire a little early.
    expect(performance.now() - start).toBeGreaterThan(490);
    expect(tries[0]!.signal.aborted).toBe(true);
  });

  it.each([
    ['only standbys if every host is one', new StandbyError(), true],
    ['no primary if one of them fails', new Error('refused'), false],
  ])('finds %s', async (_, failure, isOnly) => {
    const found = find(HOSTS.slice(0, 2)).catch((error: unknown) => error);
    tries[0]!.fail(new StandbyError());
    tries[1]!.fail(failure);
    expect(isOnlyStandby(await found)).toBe(isOnly);
  });

  it('has the failure of the only host', async () => {
    const found = find(HOSTS.slice(0, 1));
    tries[0]!.fail(new StandbyError());
    await expect(found).rejects.toBeInstanceOf(StandbyError);
  });

  it.each([
    ['before any host has answered', () => {}],
    ['while it waits for others', () => tries[0]!.succeed(1)],
  ])('ends when it is aborted %s, with all that it has started', async (_, answer) => {
    const found = find();
    answer();
    await new Promise((resolve) => setImmediate(resolve));
    end.abort(new Error('closed'));
    await expect(found).rejects.toThrow('closed');
    expect(tries.every(({ signal }) => signal.aborted)).toBe(true);
  });
});
