import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, MigrationExecutor } from 'typeorm';
import type { DataSourceOptions, EntityManager } from 'typeorm';
import { StartupError } from '../errors/startup.error.js';
import { poolOf } from './bounded-pool.js';
import { serverOf, STARTUP_LIMITS } from './connect.js';
import type { StartupLimits, Waiting } from './connect.js';
import { describeFailure } from './database-failure.js';

/** Key of the advisory lock of all instances (PostgreSQL manual, chapter 13.3.5). Any number works. */
const MIGRATION_LOCK = 7_526_841_013;

/**
 * Applies all pending migrations in one transaction. If several instances start at once, only the first applies them.
 *
 * @throws StartupError
 * @throws AbortError when `signal` aborts the wait for another instance
 */
export async function applyMigrations(dataSource: DataSource, waiting: Waiting): Promise<void> {
  const { log } = waiting;
  if ((await pendingMigrations(dataSource)).length === 0) {
    log.info('the database is up to date');
    return;
  }
  log.info('applying the migrations');
  const applied = await migrate(dataSource, waiting, (executor) =>
    executor.executePendingMigrations(),
  );
  log.info({ applied: applied.map(({ name }) => name) }, 'the database is up to date');
}

/**
 * Reverts the last migration.
 *
 * @throws StartupError
 * @throws AbortError when `signal` aborts the wait for another instance
 */
export async function revertMigration(dataSource: DataSource, waiting: Waiting): Promise<void> {
  const reverted = await migrate(dataSource, waiting, async (executor) => {
    const [last] = await executor.getExecutedMigrations();
    if (last !== undefined) await executor.undoLastMigration();
    return last?.name;
  });
  if (reverted === undefined) waiting.log.info('there is no migration to revert');
  else waiting.log.info({ reverted }, 'reverted the last migration');
}

/** Changes the schema in one transaction, under the lock, without a timeout. */
async function migrate<T>(
  dataSource: DataSource,
  { signal, limits = STARTUP_LIMITS }: Waiting,
  change: (executor: MigrationExecutor) => Promise<T>,
): Promise<T> {
  // A separate connection, because the connections of requests have statement timeouts.
  const withoutTimeouts = new DataSource({
    ...dataSource.options,
    url: poolOf(dataSource)?.url,
    driver: pg,
    poolSize: 1,
    extra: { keepAlive: true },
  } as DataSourceOptions);
  try {
    await withoutTimeouts.initialize();
    return await withoutTimeouts.transaction(async (manager) => {
      await manager.query('SET LOCAL statement_timeout = 0');
      await lock(manager, signal, limits);
      return await change(new MigrationExecutor(withoutTimeouts, manager.queryRunner));
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw startupError(dataSource, `the migrations failed: ${describeFailure(error)}`, error);
  } finally {
    if (withoutTimeouts.isInitialized) await withoutTimeouts.destroy();
  }
}

/** Takes a transaction-level lock, because clients of PgBouncer share sessions. */
async function lock(
  manager: EntityManager,
  signal: AbortSignal,
  limits: StartupLimits,
): Promise<void> {
  const deadline = performance.now() + limits.migrationLock;
  for (;;) {
    const [row] = await manager.query<{ locked: boolean }[]>(
      'SELECT pg_try_advisory_xact_lock($1) AS locked',
      [MIGRATION_LOCK],
    );
    if (row?.locked) return;
    if (performance.now() > deadline)
      throw new Error('another instance is migrating and has not finished in time');
    await sleep(limits.retry, undefined, { signal });
  }
}

/**
 * Waits for a limited time until another process has applied the migrations.
 *
 * @throws StartupError
 * @throws AbortError when `signal` aborts the wait
 */
export async function awaitMigrations(
  dataSource: DataSource,
  { log, signal, limits = STARTUP_LIMITS }: Waiting,
): Promise<void> {
  const deadline = performance.now() + limits.wait;
  let told = false;
  for (;;) {
    const pending = await pendingMigrations(dataSource);
    if (pending.length === 0) return;
    if (performance.now() > deadline) {
      throw startupError(
        dataSource,
        `migrations are pending and DATABASE_MIGRATE_ON_START is false: ${pending.join(', ')}`,
      );
    }
    if (!told) log.info({ pending }, `waiting up to ${limits.wait / 1_000} s for the migrations`);
    told = true;
    await sleep(limits.retry, undefined, { signal });
  }
}

/**
 * Names of the pending migrations. Unlike TypeORM's own check, it does not write.
 *
 * @throws StartupError
 */
async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const applied = await appliedMigrations(dataSource).catch((error: unknown) => {
    const reason = describeFailure(error);
    throw startupError(dataSource, `cannot read the applied migrations: ${reason}`, error);
  });
  return dataSource.migrations.flatMap(({ name }) =>
    name === undefined || applied.has(name) ? [] : [name],
  );
}

async function appliedMigrations(dataSource: DataSource): Promise<ReadonlySet<string>> {
  const table = dataSource.options.migrationsTableName;
  const [row] = await dataSource.query<{ exists: boolean }[]>(
    'SELECT to_regclass($1) IS NOT NULL AS exists',
    [table],
  );
  if (!row?.exists) return new Set();
  const rows = await dataSource.query<{ name: string }[]>(`SELECT name FROM "${table}"`);
  return new Set(rows.map(({ name }) => name));
}

function startupError(dataSource: DataSource, reason: string, cause?: unknown): StartupError {
  return new StartupError(`DATABASE_URL: ${serverOf(dataSource)}: ${reason}`, { cause });
}
