import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isOnlyStandby, NoPrimaryError, StandbyError } from '../src/database/database-failure.js';
import { findPrimary } from '../src/database/find-primary.js';

const HOSTS = [
  'postgres://u:secret@a/d',
  'postgres://u:secret@b:6/d',
  'postgres://u:secret@[::1]/d',
];

interface Try {
  readonly url: string;
  readonly signal: AbortSignal;
  succeed(): void;
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

/** Waits until this many hosts are tried. */
async function tried(count: number): Promise<void> {
  await vi.waitFor(() => expect(tries).toHaveLength(count), { timeout: 20_000, interval: 5 });
}

describe('the search for the primary', () => {
  it('ends at the first host if that is the primary', async () => {
    const found = find();
    tries[0]!.succeed();
    expect(await found).toBe(HOSTS[0]);
    expect(tries).toHaveLength(1);
  });

  it('goes on when a host fails, and at the latest after 500 ms', async () => {
    const found = find();
    tries[0]!.fail(new StandbyError());
    await tried(2);
    const start = performance.now();
    await tried(3);
    // Timers may fire a little early.
    expect(performance.now() - start).toBeGreaterThan(400);
    tries[2]!.succeed();
    expect(await found).toBe(HOSTS[2]);
    expect(tries[1]!.signal.aborted).toBe(true);
  });

  it('still takes a slow host that answers before the next', async () => {
    const found = find();
    await tried(2);
    tries[0]!.succeed();
    expect(await found).toBe(HOSTS[0]);
    expect(tries[1]!.signal.aborted).toBe(true);
    expect(tries).toHaveLength(2);
  });

  it('says what is wrong with each host, without credentials', async () => {
    const found = find().catch((error: unknown) => error);
    for (const [index, reason] of ['refused', 'starting up', 'a standby'].entries()) {
      await tried(index + 1);
      tries[index]!.fail(new Error(reason));
    }
    const failure = await found;
    expect(failure).toBeInstanceOf(NoPrimaryError);
    expect((failure as Error).message).toBe(
      'a:5432: refused, b:6: starting up, [::1]:5432: a standby',
    );
    expect(isOnlyStandby(failure)).toBe(false);
  });

  it('finds only standbys if every host is one', async () => {
    const found = find(HOSTS.slice(0, 2)).catch((error: unknown) => error);
    for (const index of [0, 1]) {
      await tried(index + 1);
      tries[index]!.fail(new StandbyError());
    }
    expect(isOnlyStandby(await found)).toBe(true);
  });

  it('has the failure of the only host', async () => {
    const found = find(HOSTS.slice(0, 1));
    tries[0]!.fail(new StandbyError());
    await expect(found).rejects.toBeInstanceOf(StandbyError);
  });

  it('ends when it is aborted, with all that it has started', async () => {
    const found = find();
    await tried(2);
    end.abort(new Error('closed'));
    await expect(found).rejects.toThrow('closed');
    expect(tries.every(({ signal }) => signal.aborted)).toBe(true);
    expect(tries).toHaveLength(2);
  });
});
