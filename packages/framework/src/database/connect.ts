import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { databaseServers } from '../config/database-url.js';
import { StartupError } from '../errors/startup.error.js';
import { errorsOf, isOutage, NoPrimaryError, StandbyError } from './database-error.js';
import { describeError } from '../observability/describe-error.js';
import { hostOf } from './connections/find-primary.js';
import { NO_TRACER } from '../observability/tracer.js';
import { dataSourceOf, dataSourceOptions } from './data-source.js';
import type { DatabaseSchema, DatabaseSettings } from './data-source.js';

/** In milliseconds. */
export const STARTUP_LIMITS = {
  /** Until the database accepts connections, and another process has migrated it. */
  wait: 30_000,
  /** Between two attempts. */
  retry: 500,
  /** For an instance that is migrating without a sign of life, and for locks that a migration needs. */
  migrationLock: 60_000,
  /** Between two signs of life of the instance that is migrating. */
  beat: 5_000,
  /** The wait of a migration for a lock on a table. Requests wait behind it. */
  tableLock: 500,
} as const;

export type StartupLimits = Readonly<Record<keyof typeof STARTUP_LIMITS, number>>;

export interface StartWait {
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly limits?: StartupLimits;
  readonly onWait?: (reason: string) => void;
}

/** @throws StartupError, and AbortError when `signal` aborts the wait */
export async function connect(
  dataSource: DataSource,
  { log, signal, limits = STARTUP_LIMITS, onWait = () => {} }: StartWait,
): Promise<void> {
  const server = serverOf(dataSource);
  const seconds = limits.wait / 1_000;
  const deadline = performance.now() + limits.wait;
  let told = false;
  for (;;) {
    try {
      if (!dataSource.isInitialized) await dataSource.initialize();
      await requireUtf8(dataSource, server);
      return;
    } catch (error) {
      if (error instanceof StartupError) throw error;
      const reason = describeError(error);
      if (!isTransient(error)) {
        const remedy = remedyFor(error);
        throw new StartupError(`DATABASE_URL: cannot connect to ${server}: ${reason}${remedy}`);
      }
      if (performance.now() > deadline) {
        throw new StartupError(`DATABASE_URL: ${timeout(error, server, seconds)}`);
      }
      onWait(`waiting for the database at ${server}: ${reason}`);
      if (!told) log.info({ server, reason }, `waiting up to ${seconds} s for the database`);
      told = true;
      await sleep(limits.retry, undefined, { signal });
    }
  }
}

/** @throws StartupError when the driver cannot parse the URL or read a file that it names */
export function serverOf({ options }: DataSource): string {
  try {
    const { urls } = databaseServers((options as PostgresDataSourceOptions).url!);
    return urls.map(hostOf).join(', ');
  } catch (error) {
    throw new StartupError(`DATABASE_URL: ${describeError(error)}`, { cause: error });
  }
}

export function startupErrorOf(
  dataSource: DataSource,
  reason: string,
  cause?: unknown,
): StartupError {
  return new StartupError(`DATABASE_URL: ${serverOf(dataSource)}: ${reason}`, { cause });
}

function timeout(error: unknown, server: string, seconds: number): string {
  if (error instanceof NoPrimaryError) {
    return `no host is a primary that responded within ${seconds} s: ${error.message}`;
  }
  return error instanceof StandbyError
    ? `${server} is a standby and was not promoted within ${seconds} s: set the address of the primary`
    : `${server} did not respond within ${seconds} s: ${describeError(error)}`;
}

/**
 * What PgBouncer always rejects: a login, a database, a setting in the startup packet, or, in statement mode, every
 * transaction. All its errors have the SQLSTATE 08P01, and most pass: it waits for its server, or for a connection.
 */
const REJECTED_BY_POOLER =
  /^(no such |unsupported |SSL required|transaction blocks not allowed)|(authentication failed|rejected)$/;

/** Wrong credentials or TLS settings are permanent. */
function isTransient(error: unknown): boolean {
  if (error instanceof NoPrimaryError) return [...error.errors.values()].some(isTransient);
  if (!isOutage(error)) return false;
  if (error instanceof DatabaseError) {
    // The login is not valid, or the database does not exist.
    if (/^(28|3D)/.test(String(error.code))) return false;
    return error.code !== '08P01' || !REJECTED_BY_POOLER.test(error.message);
  }
  if (error.message === 'The server does not support SSL connections') return false;
  // System errors, such as ECONNREFUSED, are transient. TLS errors, such as `ERR_SSL_…` and `CERT_HAS_EXPIRED`, are not.
  const code = 'code' in error ? String(error.code) : 'E';
  return /^E(?!RR|PROTO)/.test(code);
}

/** What to do about an error that does not say it itself, by its code and message. */
const REMEDIES = [
  // Most providers have an authority of their own.
  [
    /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF))/,
    'sslrootcert must name the certificate of its authority',
  ],
  [
    /^(28000|08P01) .*(no encryption|SSL off|SSL required)/,
    'it may want TLS: add sslmode=verify-full',
  ],
  // Every transaction of the service asks for it.
  [/^42704 .*in_hot_standby/, 'it must be PostgreSQL 15 or newer'],
] as const;

function remedyFor(error: unknown): string {
  const texts = errorsOf(error).map(
    (each) => `${(each as NodeJS.ErrnoException | undefined)?.code} ${describeError(each)}`,
  );
  const found = REMEDIES.find(([reason]) => texts.some((text) => reason.test(text)));
  return found === undefined ? '' : `: ${found[1]}`;
}

/** Other encodings cannot return every text byte for byte. */
async function requireUtf8(dataSource: DataSource, server: string): Promise<void> {
  const [row] = await dataSource.query<{ server_encoding: string }[]>('SHOW server_encoding');
  if (row?.server_encoding !== 'UTF8') {
    throw new StartupError(
      `DATABASE_URL: the encoding of the database at ${server} must be UTF8, but is ${row?.server_encoding}`,
    );
  }
}

const PLACE = `SELECT quote_ident(schema) AS schema, quote_ident(current_user) AS role,
    has_schema_privilege(schema, 'CREATE') OR to_regclass($1) IS NOT NULL AS "mayBegin"
  FROM current_schema() AS schema`;

interface Place {
  readonly schema: string | null;
  readonly role: string;
  /** Null without a schema. A later migration may do without the privilege. */
  readonly mayBegin: boolean | null;
}

/**
 * Only for a role that creates tables: a role of the service may get its privileges on the schema later.
 *
 * @throws StartupError
 */
export async function requireSchemaToCreateIn(dataSource: DataSource): Promise<void> {
  const { migrationsTableName } = dataSource.options;
  const [place] = await dataSource.query<Place[]>(PLACE, [migrationsTableName]);
  const server = serverOf(dataSource);
  if (place?.schema === null) {
    throw new StartupError(
      `DATABASE_URL: the search_path at ${server} names no schema that exists and that the role may use: set it with ALTER ROLE, or with ?options=-c%20search_path%3DSCHEMA`,
    );
  }
  if (place?.mayBegin === false) {
    const { schema, role } = place;
    // Other schemas do not belong to the owner of the database.
    const owner = schema === 'public' ? 'make it the owner of the database, or ' : '';
    throw new StartupError(
      `DATABASE_URL: the role may not create tables at ${server}: ${owner}GRANT CREATE ON SCHEMA ${schema} TO ${role}`,
    );
  }
}

/** For commands, which have no traces. */
export async function withDataSource<Result>(
  settings: Omit<DatabaseSettings, 'logger' | 'tracer'>,
  schema: DatabaseSchema,
  waiting: StartWait,
  use: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const ofCommand = { ...settings, logger: waiting.log, tracer: NO_TRACER };
  const dataSource = dataSourceOf(dataSourceOptions(ofCommand, schema));
  try {
    await connect(dataSource, waiting);
    return await use(dataSource);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}
