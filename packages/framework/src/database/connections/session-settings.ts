import { DATABASE_LIMITS } from '../limits.js';
import type { DatabaseLimits } from '../limits.js';

/**
 * Settings that statements and their results depend on, whatever the role, the database or the server has set
 * (docs/decisions/database-sessions.md). With another `DateStyle`, the driver cannot read a time. Without
 * `array_nulls`, an absent element becomes the text `NULL`. With a limit of GIN, a search loses rows.
 */
const RELIED_ON = {
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  gin_fuzzy_search_limit: '0',
} as const;

/** For a session without a pooler. The pool itself closes idle connections. */
export const OWN_SESSION = {
  ...RELIED_ON,
  default_transaction_isolation: 'read committed',
  idle_session_timeout: '0',
} as const;

const TIMEOUTS = {
  lock_timeout: DATABASE_LIMITS.lock,
  idle_in_transaction_session_timeout: DATABASE_LIMITS.idleInTransaction,
};

const set = (name: string, value: string | number) => `set_config('${name}', '${value}', false)`;

/**
 * An expression for a setting whose value is the choice of an operator, except for one value. The session keeps it
 * when the server reloads its configuration: a value of the session has priority (PostgreSQL manual, chapter 19.1.3).
 */
const unless = (except: string | number, name: string, value: string | number) =>
  `set_config('${name}', coalesce(nullif(current_setting('${name}'), '${except}'), '${value}'), false)`;

const when = (name: string, value: string, result: string) =>
  `CASE WHEN current_setting('${name}') = '${value}' THEN ${result} END`;

const SET_UP_SESSION = [
  ...Object.entries(OWN_SESSION).map(([name, value]) => set(name, value)),
  // 0 means no limit.
  ...Object.entries(TIMEOUTS).map(([name, value]) => unless(0, name, value)),
  // With `off`, a crash loses creates with a success response.
  unless('off', 'synchronous_commit', 'on'),
  // With `replica`, PostgreSQL checks no foreign keys and fires no triggers. Only superusers may change this setting.
  when('session_replication_role', 'replica', set('session_replication_role', 'origin')),
].join();

/** Expressions for what is to be added to {@link beginShared}. */
const ADD_TO_BEGIN = [
  when('synchronous_commit', 'off', `'; SET LOCAL synchronous_commit = on'`),
  when('session_replication_role', 'replica', `'; SET LOCAL session_replication_role = origin'`),
].join();

/**
 * Reads what the session is, and sets it up if its process has the id `$1`: then no pooler shares it.
 *
 * @param path an expression for the search path
 */
export function setUpSession(path: string, { statement }: DatabaseLimits): string {
  return `SELECT pid = $1 AS own, current_setting('transaction_read_only') = 'off' AS writable,
      to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS citus,
      concat(${ADD_TO_BEGIN}, '; SET LOCAL search_path = ' || path) AS added,
      CASE WHEN pid = $1 THEN ARRAY[${SET_UP_SESSION}, ${set('statement_timeout', statement)}] END,
      CASE WHEN pid = $1 AND path IS NOT NULL THEN set_config('search_path', path, false) END
    FROM pg_backend_pid() AS pid, (SELECT ${path} AS path OFFSET 0) AS narrowed`;
}

/**
 * Begins a transaction that tells whether the server is a standby. No statement of it takes a snapshot, so TypeORM
 * can still set the isolation level.
 */
function begin(settings: Readonly<Record<string, string | number>>): string {
  const local = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = '${value}'`);
  return ['BEGIN ISOLATION LEVEL READ COMMITTED', ...local, 'SHOW in_hot_standby'].join('; ');
}

/** In a session without a pooler, whose settings are set. */
export const BEGIN_OWN = begin({});

/** The first transaction of a session, of which nothing is known. */
export function beginFirst({ statement }: DatabaseLimits): string {
  return begin({ statement_timeout: statement });
}

/** In sessions that other clients of a pooler share. */
export function beginShared({ statement }: DatabaseLimits): string {
  return begin({ ...RELIED_ON, statement_timeout: statement, ...TIMEOUTS });
}
