import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DataSource, MigrationExecutor } from 'typeorm';
import { StartupError } from '../startup.error.js';
import { describeFailure, isOutage, isRefusal } from './database-failure.js';

/** How long the start waits for the database, and for others to migrate it, in milliseconds. */
export const STARTUP_LIMITS = { wait: 30_000, retry: 500, migrationLock: 60_000 } as const;

export type StartupLimits = Readonly<Record<keyof typeof STARTUP_LIMITS, number>>;

/** Any number; what matters is that all instances take the same advisory lock (PostgreSQL manual, chapter 13.3.5). */
const MIGRATION_LOCK = 7_526_841_013;

/**
 * Connects, waiting a bounded time for the server, and brings the schema up to date, or waits until
 * somebody else has.
 *
 * @throws StartupError
 * @throws AbortError when `signal` ends the waiting
 */
export async function openDatabase(
  dataSource: DataSource,
  { migrate, log, signal, limits = STARTUP_LIMITS }: OpenDatabaseOptions,
): Promise<void> {
  const waiting = { deadline: performance.now() + limits.wait, log, signal, limits };
  await connect(dataSource, waiting);
  await requireUtf8(dataSource);
  if (migrate) await applyMigrations(dataSource, log, limits);
  else await awaitMigrations(dataSource, waiting);
}

interface OpenDatabaseOptions {
  /** Whether to apply the migrations; otherwise somebody else does. */
  readonly migrate: boolean;
  readonly log: Logger;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  readonly limits?: StartupLimits;
}

interface Waiting extends Required<Omit<OpenDatabaseOptions, 'migrate'>> {
  readonly deadline: number;
}

async function connect(
  dataSource: DataSource,
  { deadline, log, signal, limits }: Waiting,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await dataSource.initialize();
      return;
    } catch (error) {
      const reason = describeFailure(error);
      if (!isOutage(error) || isRefusal(error)) {
        throw new StartupError(`the database refuses the connection: ${reason}`);
      }
      if (performance.now() > deadline) {
        throw new StartupError(
          `the database did not answer within ${limits.wait / 1_000} s: ${reason}`,
        );
      }
      if (attempt === 1)
        log.info({ reason }, `waiting up to ${limits.wait / 1_000} s for the database`);
      await sleep(limits.retry, undefined, { signal });
    }
  }
}

/** Text must come back byte for byte, which other encodings cannot promise. */
async function requireUtf8(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ server_encoding: string }[]>('SHOW server_encoding');
  if (row?.server_encoding !== 'UTF8') {
    throw new StartupError(
      `the database must have the encoding UTF8, but has ${row?.server_encoding}`,
    );
  }
}

/** Applies what is pending in one transaction; of several instances that start at once, one does it. */
export async function applyMigrations(
  dataSource: DataSource,
  log: Logger,
  limits: StartupLimits = STARTUP_LIMITS,
): Promise<void> {
  if ((await pendingMigrations(dataSource)).length === 0) return;
  await using runner = dataSource.createQueryRunner();
  log.info('applying the migrations');
  await runner.startTransaction();
  try {
    // Migrations may take longer than a request. The lock is one of the transaction, not of the
    // session, because a session behind PgBouncer belongs to many clients.
    await runner.query(`SET LOCAL statement_timeout = 0`);
    await runner.query(`SET LOCAL lock_timeout = ${limits.migrationLock}`);
    await runner.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const applied = await new MigrationExecutor(dataSource, runner).executePendingMigrations();
    await runner.commitTransaction();
    log.info({ applied: applied.map(({ name }) => name) }, 'the database is up to date');
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined);
    throw new StartupError(`the migrations failed: ${describeFailure(error)}`, {
      cause: error,
    });
  }
}

async function awaitMigrations(
  dataSource: DataSource,
  { deadline, log, signal, limits }: Waiting,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const pending = await pendingMigrations(dataSource);
    if (pending.length === 0) return;
    if (performance.now() > deadline) {
      throw new StartupError(
        `migrations are missing, and DATABASE_MIGRATE_ON_START is false: ${pending.join(', ')}`,
      );
    }
    if (attempt === 1)
      log.info({ pending }, `waiting up to ${limits.wait / 1_000} s for migrations`);
    await sleep(limits.retry, undefined, { signal });
  }
}

/** Names of the migrations that the database has not seen. Reads only, unlike TypeORM's own look. */
async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const table = dataSource.options.migrationsTableName;
  const [row] = await dataSource.query<{ exists: boolean }[]>(
    'SELECT to_regclass($1) IS NOT NULL AS exists',
    [table],
  );
  const applied = row?.exists
    ? await dataSource.query<{ name: string }[]>(`SELECT name FROM "${table}"`)
    : [];
  const names = new Set(applied.map(({ name }) => name));
  return dataSource.migrations.flatMap(({ name }) =>
    name === undefined || names.has(name) ? [] : [name],
  );
}
