import { setTimeout as sleep } from 'node:timers/promises';
import { escapeLiteral } from 'pg';
import type { QueryRunner } from 'typeorm';
import { ADVISORY_LOCKS } from '../advisory-locks.js';
import { OWN_SESSION } from '../connections/session-settings.js';
import { STARTUP_LIMITS } from '../connect.js';
import type { StartWait } from '../connect.js';

const { migrations: LOCK } = ADVISORY_LOCKS;

/** The last timeout is new in PostgreSQL 17. */
const SETTINGS = {
  ...OWN_SESSION,
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  transaction_timeout: '0',
} as const;

/**
 * Sets what a migration relies on, as far as the server has it, in a transaction. No timeout may end a migration, the
 * lock or this statement.
 *
 * @param path an expression for the search path
 */
export function settings(scope: 'transaction' | 'session', path = 'NULL'): string {
  const values = Object.entries(SETTINGS).map(([name, value]) => `('${name}', '${value}')`);
  values.push(`('search_path', ${path})`);
  return `SET LOCAL statement_timeout = 0; SELECT set_config(name, value, ${scope === 'transaction'}) FROM (VALUES ${values.join()}) AS wanted (name, value)
    WHERE name IN (SELECT name FROM pg_settings) AND value IS NOT NULL`;
}

/**
 * The transaction that holds the lock, and the name of its session, which every role sees and each sign of life
 * changes. Earlier releases had no such sign: there, the time of the last activity counts, which few roles see.
 */
const SIGN_OF_LIFE = `SELECT string_agg(concat_ws(' ', virtualtransaction, application_name, state_change), ',') AS sign
  FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = ${LOCK}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Whether the instance that migrates has shown no sign of life for so many milliseconds. */
export function silenceOf(
  database: { query(statement: string): Promise<unknown> },
  milliseconds: number,
): () => Promise<boolean> {
  let deadline = performance.now() + milliseconds;
  let last: string | undefined;
  return async () => {
    const sign = await database.query(SIGN_OF_LIFE).then(JSON.stringify, () => last);
    if (sign !== last) deadline = performance.now() + milliseconds;
    last = sign;
    return performance.now() > deadline;
  };
}

/**
 * Takes the lock of the instance that migrates, for a transaction of its own: clients of PgBouncer share sessions,
 * and `CREATE INDEX CONCURRENTLY` cannot run in a transaction.
 *
 * It also waits for each transaction with a snapshot, so this transaction must not keep one, or both would wait for each
 * other: it is READ COMMITTED, `SET` takes none, statements without parameters use the simple protocol, whose snapshot
 * does not outlive them, and each attempt to take the lock is another transaction.
 *
 * @throws AbortError when `signal` aborts the wait
 */
export async function takeLock(
  session: QueryRunner,
  { log, signal, limits = STARTUP_LIMITS, onWait = () => {} }: StartWait,
): Promise<void> {
  const isSilent = silenceOf(session, limits.migrationLock);
  for (let isFirst = true; !(await isTaken(session)); isFirst = false) {
    if (isFirst) log.info('another instance is migrating: waiting for it');
    onWait('another instance is migrating');
    if (await isSilent()) {
      throw new Error('another instance is migrating and shows no sign of life');
    }
    await sleep(limits.retry, undefined, { signal });
  }
  await session.query(settings('transaction'));
}

/**
 * Keeps PgBouncer and firewalls from closing an idle connection as well.
 *
 * @throws Error if another instance may have the lock now
 */
export async function showLife(session: QueryRunner): Promise<void> {
  const { applicationName } = session.connection.options as { readonly applicationName?: string };
  const name = `${applicationName} migration ${Date.now()}`;
  await session.query(`SET LOCAL application_name = ${escapeLiteral(name)}`);
}

async function isTaken(session: QueryRunner): Promise<boolean> {
  await session.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  const [row] = (await session.query(
    `SELECT pg_try_advisory_xact_lock(${LOCK}) AS taken`,
  )) as readonly { readonly taken: boolean }[];
  if (row?.taken === true) return true;
  await session.query('ROLLBACK');
  return false;
}
