import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RepeatedErrors } from '../../src/observability/repeated-errors.js';

let clock = 0;

beforeEach(() => {
  clock = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function fail(message: string, code?: string): Error {
  return Object.assign(new Error(message), { code });
}

it('logs the first error of a kind, and the next after a minute with the number between', () => {
  const errors = new RepeatedErrors();
  const noted = () => errors.note(fail(`"${clock}" at ${clock} is wrong`, '42703'), 'GET /');
  expect(noted()).toBe(0);
  for (clock = 2_000; clock < 61_000; clock += 1_000) expect(noted()).toBeUndefined();
  expect(noted()).toBe(59);
  clock += 60_000;
  expect(noted()).toBe(0);
});

it('tells kinds apart by code, message and place', () => {
  const errors = new RepeatedErrors();
  expect(errors.note(fail('a', '42703'), 'GET /')).toBe(0);
  expect(errors.note(fail('a', '42P01'), 'GET /')).toBe(0);
  expect(errors.note(fail('b', '42P01'), 'GET /')).toBe(0);
  expect(errors.note(fail('b', '42P01'), 'PUT /')).toBe(0);
  expect(errors.note('a text', 'GET /')).toBe(0);
  expect(errors.note('another text', 'GET /')).toBeUndefined();
});

it('remembers a hundred kinds, and forgets the one that was logged longest ago', () => {
  const errors = new RepeatedErrors();
  for (let code = 0; code <= 100; code += 1)
    expect(errors.note(fail('a', `${code}`), 'GET /')).toBe(0);
  expect(errors.note(fail('a', '1'), 'GET /')).toBeUndefined();
  expect(errors.note(fail('a', '0'), 'GET /')).toBe(0);
});
