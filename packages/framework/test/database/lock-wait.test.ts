import { expect, it } from 'vitest';
import { canLimitLockWait } from '../../src/database/connections/lock-wait.js';

it.each([
  'UPDATE tools SET name = $1',
  '/* GET /tools */ UPDATE tools SET name = $1',
  '-- a report\n/* of */\n  DELETE FROM tools',
  'INSERT INTO tools VALUES ($1);',
  'SELECT * FROM tools FOR UPDATE',
  '(SELECT * FROM tools FOR NO KEY UPDATE)',
  'with t AS (DELETE FROM tools RETURNING *) SELECT * FROM t',
])('a statement can wait for a row for a short time: %s', (text) => {
  expect(canLimitLockWait(text)).toBe(true);
});

it.each([
  'SELECT 1',
  'VACUUM tools',
  '-- UPDATE',
  // They can end the transaction in which they are.
  `DO $$ BEGIN PERFORM FROM tools FOR UPDATE; COMMIT; END $$`,
  'CALL work() /* for update */',
  'UPDATE tools SET name = $1; COMMIT; UPDATE tools SET kind = $1',
  'INSERT INTO tools SELECT set_config($1, $2, true) WHERE current_setting($3) = lock_timeout',
])('a statement waits as long as others: %s', (text) => {
  expect(canLimitLockWait(text)).toBe(false);
});
