import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CommandError, TemporaryError, Unreachable } from '../src/command-error.js';
import { Requests } from '../src/connection/requests.js';
import { serviceOf } from '../src/service.js';
import { documentWith, IDENTITY } from './support/tool-library.js';

const SECOND = 1_000;
const LIMITS = {
  idle: 60 * SECOND,
  firstPause: 1,
  longestPause: 1,
  patience: 120 * SECOND,
  firstContact: 5 * SECOND,
  unstoppable: 10 * SECOND,
};

/** Time that passes only when a test says so. */
let now = 0;

beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function retries(announced: string[] = []): Requests {
  const connection = {
    service: serviceOf({ identity: IDENTITY, document: documentWith() }),
    baseUrl: 'http://store.test',
    limits: LIMITS,
    token: () => Promise.resolve('secret'),
    tokenVariable: 'TOOL_LIBRARY_TOKEN',
  };
  const announce = (message: string) => void announced.push(message);
  return new Requests(connection, new AbortController().signal, announce);
}

/** An attempt that takes a while, and fails a number of times. */
function failing(times: number, duration: number, retryAfter?: number) {
  let attempts = 0;
  return () => {
    attempts += 1;
    now += duration;
    return attempts > times
      ? Promise.resolve(attempts)
      : Promise.reject(new TemporaryError('away', retryAfter));
  };
}

it('end when no request has succeeded for 2 minutes', async () => {
  const all = retries();
  expect(await all.run(failing(11, 10 * SECOND))).toBe(12);
  await expect(all.run(failing(13, 10 * SECOND))).rejects.toEqual(
    new CommandError(3, 'away; gave up after 120 seconds without success'),
  );
  expect(all.repeats).toBe(11 + 11);
});

it('go on while other requests succeed', async () => {
  const all = retries();
  const other = vi.fn<() => Promise<number>>(failing(20, 10 * SECOND));
  const attempt = async () => {
    await all.run(failing(0, 0));
    return other();
  };
  expect(await all.run(attempt)).toBe(21);
});

it('begin anew for a request that comes long after the last success', async () => {
  const all = retries();
  await all.run(failing(0, 0));
  now += 3_600 * SECOND;
  expect(await all.run(failing(2, SECOND))).toBe(3);
});

it('end at once if the service asks to wait for too long', async () => {
  const announced: string[] = [];
  const all = retries(announced);
  const attempt = vi.fn<() => Promise<number>>(failing(1, SECOND, 121 * SECOND));
  await expect(all.run(attempt)).rejects.toEqual(
    new CommandError(
      3,
      'away; gave up: the service asks to wait 121 seconds, longer than the 120 seconds that the command waits',
    ),
  );
  expect(attempt).toHaveBeenCalledOnce();
  expect(all.repeats).toBe(0);
  expect(announced).toEqual([]);
});

it('say how long nothing has succeeded, not how long they could have waited', async () => {
  await expect(retries().run(failing(1, 30 * SECOND, 100 * SECOND))).rejects.toEqual(
    new CommandError(
      3,
      'away; gave up after 30 seconds without success: the service asks to wait 100 seconds more, and the command waits 120 seconds in all',
    ),
  );
});

it('end after 5 seconds if there has never been a connection', async () => {
  const all = retries();
  const refused = () => {
    now += SECOND;
    return Promise.reject(new Unreachable('refused', true));
  };
  await expect(all.run(refused)).rejects.toEqual(
    new CommandError(
      3,
      'refused; gave up after 5 seconds: check the address, and whether the service runs',
    ),
  );
  // The service has not seen any.
  expect(all.repeats).toBe(0);
});

it('go on for 2 minutes if there was a connection before', async () => {
  let times = 20;
  const refused = () => {
    now += SECOND;
    times -= 1;
    return times > 0
      ? Promise.reject(new Unreachable('refused', false))
      : Promise.resolve('connected');
  };
  expect(await retries().run(refused)).toBe('connected');
});

it('say how long they wait', async () => {
  const announced: string[] = [];
  await retries(announced).run(failing(1, 0, SECOND));
  expect(announced).toEqual(['tool-library: away; trying again in 1 second']);
});

it('wait as long as the service asks to', async () => {
  const start = Date.now();
  expect(await retries().run(failing(1, 0, 100))).toBe(2);
  // Timers may be early by a millisecond.
  expect(Date.now() - start).toBeGreaterThanOrEqual(99);
});

it('are announced at most every 10 seconds', async () => {
  const announced: string[] = [];
  await retries(announced).run(failing(10, 4 * SECOND));
  expect(announced).toEqual(Array.from({ length: 4 }, () => 'tool-library: away; trying again'));
});

it('do not repeat what cannot succeed', async () => {
  const attempt = vi.fn<() => Promise<never>>(() => Promise.reject(new Error('a bug')));
  await expect(retries().run(attempt)).rejects.toThrow('a bug');
  expect(attempt).toHaveBeenCalledOnce();
});
