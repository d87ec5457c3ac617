import { DatabaseError } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RejectedOperations } from '../../src/database/connections/rejected-operations.js';

let lines: string[];
let operations: RejectedOperations;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const write = (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg);
  operations = new RejectedOperations(pino({}, { write }));
});

afterEach(() => vi.useRealTimers());

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('refused', 1, 'error'), { code });
}

it('a database that is read-only rejects writes, also those of a SELECT, while other SELECTs succeed', () => {
  operations.noteError('SELECT', databaseError('25006'));
  operations.noteError('INSERT', databaseError('25006'));
  vi.advanceTimersByTime(10_000);
  operations.noteSuccess('SELECT');
  operations.noteError('SELECT', databaseError('25006'));
  expect(lines).toEqual(['the database rejects writes']);
  vi.advanceTimersByTime(10_000);
  operations.noteSuccess('DELETE');
  expect(lines).toEqual(['the database rejects writes', 'the database accepts writes again']);
});

it('each other operation is rejected and accepted by itself', () => {
  operations.noteError('INSERT', databaseError('53100'));
  vi.advanceTimersByTime(10_000);
  operations.noteSuccess('SELECT');
  expect(lines).toEqual(['the database rejects INSERT']);
  operations.noteSuccess('INSERT');
  expect(lines).toHaveLength(2);
});
