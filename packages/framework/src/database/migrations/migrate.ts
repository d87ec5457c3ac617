import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Client } from 'pg';
import { MigrationExecutor } from 'typeorm';
import type { DataSource, DataSourceOptions, MigrationInterface, QueryRunner } from 'typeorm';
import type { ServiceConfig } from '../../config/config.js';
import { StartupError } from '../../errors/startup.error.js';
import { poolOf } from '../connections/bounded-pool.js';
import { pathFor } from '../connections/search-path.js';
import { VALUE_TYPES } from '../connections/value-types.js';
import { dataSourceOf, extraOf } from '../data-source.js';
import type { DatabaseSchema } from '../data-source.js';
import { connect, requireSchemaToCreateIn, startupErrorOf, STARTUP_LIMITS } from '../connect.js';
import type { StartWait } from '../connect.js';
import { isOutage, isReadOnly } from '../database-error.js';
import { describeError } from '../../observability/describe-error.js';
import { showLife, silenceOf, takeLock } from './migration-lock.js';
import { inTransaction, outsideOfTransaction, setUp, whenFree } from './migration-session.js';
import { requireSchema } from './own-schema.js';
import { grantAccess } from './service-role.js';
import type { ServiceAccess } from './service-role.js';
import { hasTable, requireNoTablesBehind } from './tables-behind.js';

const UP_TO_DATE = 'the database is up to date';
const LOST = 'the migration lock is lost';

/** Each phase counts anew (PostgreSQL manual, chapter 27.4.4). A build waits for the transactions of other sessions. */
const INDEX_PROGRESS = `SELECT (SELECT relname FROM pg_class WHERE oid = index_relid) AS index, phase,
    floor(100.0 * coalesce(
      tuples_done / nullif(tuples_total, 0)::numeric,
      blocks_done / nullif(blocks_total, 0)::numeric
    ))::int AS percent,
    nullif(current_locker_pid, 0)::int AS "waitsForSession"
  FROM pg_stat_progress_create_index WHERE datname = current_database()`;

/** @throws StartupError, and AbortError when `signal` aborts the wait */
export async function prepareDatabase(
  dataSource: DataSource,
  { database: { migrateOnStart, serviceRole: role } }: ServiceConfig,
  schema: DatabaseSchema,
  waiting: StartWait,
): Promise<void> {
  await connect(dataSource, waiting);
  waiting.onWait?.('waiting for the migrations');
  if (migrateOnStart) await applyMigrations(dataSource, waiting, role && { role, schema });
  else await awaitMigrations(dataSource, waiting);
}

/**
 * Applies all pending migrations, each in a transaction of its own, unless it has `transaction = false`. If several
 * instances start at once, only the first applies them.
 *
 * @param access is granted at each call, because its role and the privileges may have changed
 * @throws StartupError, and AbortError when `signal` aborts the wait for another instance
 */
export async function applyMigrations(
  dataSource: DataSource,
  waiting: StartWait,
  access?: ServiceAccess,
): Promise<void> {
  const { log } = waiting;
  const { schema } = extraOf(dataSource);
  const { pending, newer } = await compareMigrations(dataSource);
  if (pending.length === 0 && access === undefined) {
    log.info({ newer }, UP_TO_DATE);
    return;
  }
  if (pending.length > 0) {
    if (schema === undefined) await requireSchemaToCreateIn(dataSource);
    await requireNoTablesBehind(dataSource, log);
    log.info('applying the migrations');
  }
  const applied = await migrate(dataSource, waiting, async (executor, perform, session) => {
    // Another instance may have applied some of them meanwhile.
    const migrations = await perform(undefined, () => executor.getPendingMigrations());
    if (migrations.length > 0 && schema !== undefined) {
      await perform(undefined, () => requireSchema(session, schema));
    }
    for (const migration of migrations) {
      await perform(migration.instance, () => executor.executeMigration(migration));
    }
    if (access !== undefined) {
      try {
        await perform(undefined, () => grantAccess(dataSource, session, access, log));
      } catch (error) {
        if (!isReadOnly(error)) throw error;
        const reason = describeError(error);
        log.warn({ reason }, 'DATABASE_SERVICE_ROLE keeps the privileges of the last migration');
      }
    }
    return migrations.map(({ name }) => name);
  });
  log.info({ applied, newer }, UP_TO_DATE);
}

/** @throws as {@link applyMigrations} */
export async function revertMigration(dataSource: DataSource, waiting: StartWait): Promise<void> {
  const reverted = await migrate(dataSource, waiting, async (executor, perform) => {
    const [last] = await perform(undefined, () => executor.getExecutedMigrations());
    if (last === undefined) return undefined;
    // The executor throws for a migration of a later release.
    const known = dataSource.migrations.find((migration) => nameOf(migration) === last.name);
    await perform(known, () => executor.undoLastMigration());
    return last.name;
  });
  if (reverted === undefined) waiting.log.info('there is no migration to revert');
  else waiting.log.info({ reverted }, 'reverted the last migration');
}

/** In a transaction unless the migration has `transaction = false`. */
type Perform = <T>(migration: MigrationInterface | undefined, step: () => Promise<T>) => Promise<T>;

async function migrate<T>(
  dataSource: DataSource,
  waiting: StartWait,
  change: (executor: MigrationExecutor, perform: Perform, session: QueryRunner) => Promise<T>,
): Promise<T> {
  const { schema, tables } = extraOf(dataSource);
  const path = pathFor({ schema, tables });
  // The connections of the pool have statement timeouts.
  const separate = dataSourceOf({
    ...dataSource.options,
    url: poolOf(dataSource)?.url,
    driver: pg,
    poolSize: 2,
    extra: {
      keepAlive: true,
      schema,
      types: VALUE_TYPES,
      onConnect: (client: Client) => setUp(client, path),
    },
  } as DataSourceOptions);
  try {
    await separate.initialize();
    const [session, lock] = [separate.createQueryRunner(), separate.createQueryRunner()];
    await takeLock(lock, waiting);
    const stopAttending = attend(lock, dataSource, waiting);
    try {
      // `runMigrations` would leave its table behind if the first migration fails, and its transactions have no
      // `lock_timeout`.
      const executor = new MigrationExecutor(separate, session);
      executor.transaction = 'none';
      const perform: Perform = async (migration, step) => {
        await showLife(lock).catch((error: unknown) => {
          throw new Error(`${LOST}: ${describeError(error)}`, { cause: error });
        });
        return whenFree(waiting, () =>
          migration?.transaction === false
            ? outsideOfTransaction(session, path, step)
            : inTransaction(session, path, waiting, step),
        );
      };
      return await change(executor, perform, session);
    } finally {
      await stopAttending();
      // Without a connection, the server has released the lock.
      await lock.query('ROLLBACK').catch(() => {});
    }
  } catch (error) {
    if (waiting.signal.aborted || error instanceof StartupError) throw error;
    throw startupErrorOf(dataSource, `the migrations failed: ${describeError(error)}`, error);
  } finally {
    if (separate.isInitialized) await separate.destroy();
  }
}

/** Shows that this instance is alive, and logs its progress, until the returned function is called. */
function attend(
  lock: QueryRunner,
  dataSource: DataSource,
  { log, limits = STARTUP_LIMITS, onWait = () => {} }: StartWait,
): () => Promise<void> {
  const check = async (): Promise<void> => {
    await showLife(lock).catch((error: unknown) => {
      clearInterval(timer);
      log.error({ reason: describeError(error) }, LOST);
    });
    // Without a connection, there is nothing to log: the migration meets its own error.
    const builds = dataSource.query<{ readonly index: string | null }[]>(INDEX_PROGRESS);
    for (const progress of await builds.catch(() => [])) {
      log.info(progress, 'building an index');
      onWait(`building the index ${progress.index}`);
    }
  };
  let last: Promise<void> | undefined;
  const timer = setInterval(() => {
    last ??= check().finally(() => (last = undefined));
  }, limits.beat);
  return async () => {
    clearInterval(timer);
    await last;
  };
}

/**
 * Waits until another process has applied the migrations, for a limited time or as long as it shows signs of life.
 *
 * @throws StartupError, and AbortError when `signal` aborts the wait
 */
export async function awaitMigrations(
  dataSource: DataSource,
  { log, signal, limits = STARTUP_LIMITS }: StartWait,
): Promise<void> {
  const isSilent = silenceOf(dataSource, limits.wait);
  for (let isFirst = true; ; isFirst = false) {
    const reason = await reasonToWait(dataSource);
    if (reason === undefined) return;
    if (await isSilent()) throw reason;
    if (isFirst) {
      log.info(
        { reason: reason.message },
        `waiting up to ${limits.wait / 1_000} s for the migrations`,
      );
    }
    await sleep(limits.retry, undefined, { signal });
  }
}

async function reasonToWait(dataSource: DataSource): Promise<StartupError | undefined> {
  try {
    const { pending } = await compareMigrations(dataSource);
    if (pending.length === 0) return undefined;
    await requireNoTablesBehind(dataSource);
    return startupErrorOf(
      dataSource,
      `migrations are pending and DATABASE_MIGRATE_ON_START is false: ${pending.join(', ')}`,
    );
  } catch (error) {
    // The instance that migrates grants the privilege to read the list after the last migration.
    if (error instanceof StartupError && isOutage(error.cause)) return error;
    throw error;
  }
}

/** As in TypeORM's table of applied migrations: the property is optional. */
export function nameOf(migration: MigrationInterface): string {
  return migration.name ?? migration.constructor.name;
}

/**
 * TypeORM's own comparison takes a table that the role may not read for a missing one.
 *
 * @returns the names of `pending` migrations, and of those that only a `newer` release has, if there are any
 * @throws StartupError
 */
async function compareMigrations(
  dataSource: DataSource,
): Promise<{ pending: string[]; newer: string[] | undefined }> {
  const table = dataSource.options.migrationsTableName;
  try {
    const rows = (await hasTable(dataSource, table)) ? await appliedIn(dataSource, table) : [];
    const applied = new Set(rows.map(({ name }) => name));
    const known = new Set(dataSource.migrations.map(nameOf));
    const newer = [...applied].filter((name) => !known.has(name));
    return {
      pending: [...known].filter((name) => !applied.has(name)),
      newer: newer.length > 0 ? newer : undefined,
    };
  } catch (error) {
    const reason = describeError(error);
    throw startupErrorOf(dataSource, `cannot read the applied migrations: ${reason}`, error);
  }
}

/** Some providers switch row security on for each new table: without a policy, a role that owns nothing finds no row. */
const HIDDEN = 'SELECT quote_ident(current_user) AS role WHERE row_security_active($1::text)';

async function appliedIn(
  dataSource: DataSource,
  table: string | undefined,
): Promise<readonly { readonly name: string }[]> {
  const rows = await dataSource.query<{ name: string }[]>(`SELECT name FROM "${table}"`);
  if (rows.length > 0) return rows;
  const [hidden] = await dataSource.query<{ role: string }[]>(HIDDEN, [table]);
  if (hidden === undefined) return rows;
  throw new Error(
    `row security hides them: ALTER ROLE ${hidden.role} BYPASSRLS, or make policies for all tables`,
  );
}
