import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { DATABASE_LIMITS } from '../../packages/framework/src/database/limits.js';

/** The cells of the row that begins with a text, in the table of all limits. */
function limitOf(text: string): string {
  const lines = readFileSync('docs/operations.md', 'utf8').split('\n');
  const row = lines.find((line) => line.startsWith(`| ${text}`));
  return row?.split('|')[2]?.trim() ?? '';
}

it('a service has the limits of the database that the documentation tells', () => {
  const { connection, queue, slot, statement, reply, halving, lock, idleInTransaction, lifetime } =
    DATABASE_LIMITS;
  const seconds = (milliseconds: number) => `${milliseconds / 1_000} s`;
  expect(limitOf('time to connect, and time to wait for a connection')).toBe(seconds(connection));
  expect(limitOf('plants that wait to be created')).toContain(`, ${seconds(queue)};`);
  expect(limitOf('a create, look-up or shared page in total')).toContain(`${seconds(reply)} after`);
  expect(limitOf('connections of the pool in use at once')).toMatch(
    new RegExp(`at most 500 and ${seconds(slot)}$`),
  );
  expect(limitOf('halving a group')).toContain(`, ${seconds(halving)}`);
  expect(limitOf('duration of a statement')).toBe(
    `${seconds(statement)}, enforced by PostgreSQL; ${seconds(reply)}, enforced by the service`,
  );
  expect(limitOf('wait for a lock')).toContain(`${seconds(lock)}, enforced`);
  expect(limitOf('next statement of a transaction')).toContain(`${seconds(idleInTransaction)},`);
  expect(limitOf('a connection to the database')).toContain(`${lifetime / 60_000} min,`);
});
