import { DatabaseError } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RefusedOperations } from '../../src/database/connections/refused-operations.js';

let lines: string[];
let operations: RefusedOperations;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const write = (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg);
  operations = new RefusedOperations(pino({}, { write }));
});

afterEach(() => vi.useRealTimers());

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('refused', 1, 'error'), { code });
}

it('a database that is read-only refuses writes, also those of a SELECT, while other SELECTs succeed', () => {
  operations.noteFailure('SELECT', databaseError('25006'));
  operations.noteFailure('INSERT', databaseError('25006'));
  vi.advanceTimersByTime(10_000);
  operations.noteSuccess('SELECT');
  operations.noteFailure('SELECT', databaseError('25006'));
  expect(lines).toEqual(['the database refuses writes']);
  vi.advanceTimersByTime(10_000);
  operations.noteSuccess('DELETE');
  expect(lines).toEqual(['the database refuses writes', 'the database accepts writes again']);
});

it('each other operation is refused and accepted by itself', () => {
  operations.noteFailure('INSERT', databaseError('53100'));
  vi.advanceTimersByTime(10_000);
  operations.noteSuccess('SELECT');
  expect(lines).toEqual(['the database refuses INSERT']);
  operations.noteSuccess('INSERT');
  expect(lines).toHaveLength(2);
});
