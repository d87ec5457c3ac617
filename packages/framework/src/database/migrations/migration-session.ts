import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { Client } from 'pg';
import { EntityManager } from 'typeorm';
import type { QueryRunner } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';
import { describeError } from '../../observability/describe-error.js';
import { STARTUP_LIMITS } from '../connect.js';
import type { StartWait } from '../connect.js';
import { settings } from './migration-lock.js';

/** lock not available, deadlock detected. */
const CONTENTION = new Set(['55P03', '40P01']);

/**
 * For migrations outside of a transaction. The session of a pooler, which sends another number than its process id, has
 * other users and stays as it is.
 */
export async function setUp(client: Client, path: string): Promise<void> {
  const { processID } = client as unknown as { readonly processID: number | null };
  await client.query(
    `BEGIN; ${settings('session', path)} AND pg_backend_pid() = ${processID}; COMMIT`,
  );
}

/** A wait for a lock on a table keeps others from the table, so each is short. */
export async function inTransaction<T>(
  session: QueryRunner,
  path: string,
  { limits = STARTUP_LIMITS }: StartWait,
  step: () => Promise<T>,
): Promise<T> {
  // Not the manager of the session, whose transactions slow down all promises (inside-transaction.ts).
  const manager = new EntityManager(session.dataSource, session);
  return manager.transaction('READ COMMITTED', async () => {
    await session.query(settings('transaction', path));
    await session.query(`SET LOCAL lock_timeout = ${limits.tableLock}`);
    return step();
  });
}

/** @throws StartupError if the session of a pooler, which stays as it is, has another search path */
export async function outsideOfTransaction<T>(
  session: QueryRunner,
  path: string,
  step: () => Promise<T>,
): Promise<T> {
  const [found] = (await session.query(`SELECT ${path} AS path`)) as readonly {
    readonly path: string | null;
  }[];
  if (found?.path !== null) {
    throw new StartupError(
      `DATABASE_URL: behind a pooler, a migration without a transaction needs the search_path ${found?.path}: set it with ALTER ROLE, or migrate without the pooler`,
    );
  }
  return step();
}

/** Repeats a migration without its lock, for a limited time and with pauses in which others can work. */
export async function whenFree<T>(
  { log, signal, limits = STARTUP_LIMITS }: StartWait,
  step: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + limits.migrationLock;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      const isContention = error instanceof DatabaseError && CONTENTION.has(String(error.code));
      if (!isContention || performance.now() > deadline) throw error;
      log.info({ reason: describeError(error) }, 'a migration waits for a lock: trying again');
    }
    await sleep(4 * limits.tableLock, undefined, { signal });
  }
}
