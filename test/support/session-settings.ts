import { Statements } from '../../packages/framework/src/database/statements.js';
import { createDataSource } from './data-source.js';

/**
 * Settings that change how a value is written, or what a statement does (PostgreSQL manual, chapter 20). Each is the worst
 * that a role, a database or a server can have.
 */
export const SETTINGS: readonly (readonly [name: string, value: string])[] = [
  ['DateStyle', 'German'],
  ['IntervalStyle', 'sql_standard'],
  ['TimeZone', 'Asia/Kathmandu'],
  ['bytea_output', 'escape'],
  ['extra_float_digits', '-15'],
  ['client_encoding', 'LATIN1'],
  ['standard_conforming_strings', 'off'],
  ['backslash_quote', 'off'],
  ['array_nulls', 'off'],
  ['transform_null_equals', 'on'],
  ['quote_all_identifiers', 'on'],
  ['xmlbinary', 'hex'],
  ['xmloption', 'document'],
  ['gin_fuzzy_search_limit', '1'],
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_deferrable', 'on'],
  ['synchronous_commit', 'off'],
  ['session_replication_role', 'replica'],
  ['check_function_bodies', 'off'],
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_indexscan', 'off'],
  ['enable_sort', 'off'],
  ['row_security', 'off'],
  ['client_min_messages', 'debug5'],
];

/** What a session of the service writes for a value, and does with it, whatever is set. */
const VALUES = `SELECT timestamptz '2024-02-03 04:05:06.789Z' AS moment, timestamp '2024-02-03 04:05:06.789' AS clock,
  date '2024-02-03' AS day, ARRAY[timestamptz '2024-02-03 04:05:06Z', NULL] AS moments, timestamptz '2024-02-03 04:05:06Z'::text AS text,
  interval '1 day 2 hours'::text AS span, '\\x0a5c'::bytea AS bytes, 0.1::float8 + 0.2::float8 AS float,
  '\\n' AS literal, $1::text[] AS list, 'ü€' AS letters,
  current_setting('transaction_isolation') AS isolation, current_setting('synchronous_commit') AS commit,
  current_setting('session_replication_role') AS role`;

export const EXPECTED = {
  moment: new Date('2024-02-03T04:05:06.789Z'),
  clock: new Date(2024, 1, 3, 4, 5, 6, 789),
  day: new Date(2024, 1, 3),
  moments: [new Date('2024-02-03T04:05:06Z'), null],
  text: '2024-02-03 04:05:06+00',
  span: '1 day 02:00:00',
  bytes: Buffer.from([0x0a, 0x5c]),
  float: 0.1 + 0.2,
  literal: '\\n',
  list: ['a', null],
  letters: 'ü€',
  isolation: 'read committed',
  commit: 'on',
  role: 'origin',
};

/** What a connection of the service to this address gets for these values. */
export async function valuesAt(url: string): Promise<unknown> {
  const dataSource = await createDataSource(url).initialize();
  try {
    const { rows } = await new Statements(dataSource).run({
      name: 'values',
      text: VALUES,
      values: [['a', null]],
    });
    return rows[0];
  } finally {
    await dataSource.destroy();
  }
}
