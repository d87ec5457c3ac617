import { DatabaseError } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Refusals } from '../../src/database/connections/refusals.js';

let lines: string[];
let refusals: Refusals;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const write = (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg);
  refusals = new Refusals(pino({}, { write }));
});

afterEach(() => vi.useRealTimers());

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('refused', 1, 'error'), { code });
}

it('a database that is read-only refuses writes, also those of a SELECT, while other SELECTs succeed', () => {
  refusals.noteRefusal('SELECT', databaseError('25006'));
  refusals.noteRefusal('INSERT', databaseError('25006'));
  vi.advanceTimersByTime(10_000);
  refusals.noteSuccess('SELECT');
  refusals.noteRefusal('SELECT', databaseError('25006'));
  expect(lines).toEqual(['the database refuses writes']);
  vi.advanceTimersByTime(10_000);
  refusals.noteSuccess('DELETE');
  expect(lines).toEqual(['the database refuses writes', 'the database accepts writes again']);
});

it('each other operation is refused and accepted by itself', () => {
  refusals.noteRefusal('INSERT', databaseError('53100'));
  vi.advanceTimersByTime(10_000);
  refusals.noteSuccess('SELECT');
  expect(lines).toEqual(['the database refuses INSERT']);
  refusals.noteSuccess('INSERT');
  expect(lines).toHaveLength(2);
});
