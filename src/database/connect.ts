import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { StartupError } from '../errors/startup.error.js';
import {
  describeFailure,
  driverFailure,
  isOutage,
  isRefusal,
  StandbyError,
} from './database-failure.js';

/** How long the start waits for others, in milliseconds. */
export const STARTUP_LIMITS = {
  /** For the database to accept connections, and for somebody else to migrate it. */
  wait: 30_000,
  /** Between two looks. */
  retry: 500,
  /** For another instance that is migrating. */
  migrationLock: 60_000,
} as const;

export type StartupLimits = Readonly<Record<keyof typeof STARTUP_LIMITS, number>>;

export interface Waiting {
  readonly log: Logger;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  readonly limits?: StartupLimits;
  /** Told at each look why the database cannot be used yet. */
  readonly onWait?: (reason: string) => void;
}

/**
 * Connects, waiting a bounded time for a server that is not there yet.
 *
 * @throws StartupError
 * @throws AbortError when `signal` ends the waiting
 */
export async function connect(
  dataSource: DataSource,
  { log, signal, limits = STARTUP_LIMITS, onWait = () => {} }: Waiting,
): Promise<void> {
  const server = serverOf(dataSource);
  const seconds = limits.wait / 1_000;
  const deadline = performance.now() + limits.wait;
  let told = false;
  while (!dataSource.isInitialized) {
    try {
      await dataSource.initialize();
    } catch (error) {
      const reason = describeFailure(error);
      if (!mayHeal(error)) {
        throw new StartupError(`DATABASE_URL: cannot connect to ${server}: ${reason}`);
      }
      if (performance.now() > deadline) {
        throw new StartupError(
          error instanceof StandbyError
            ? `DATABASE_URL: ${server} is a standby, and was not promoted within ${seconds} s: name the primary`
            : `DATABASE_URL: ${server} did not answer within ${seconds} s: ${reason}`,
        );
      }
      onWait(`waiting for the database at ${server}: ${reason}`);
      if (!told) log.info({ server, reason }, `waiting up to ${seconds} s for the database`);
      told = true;
      await sleep(limits.retry, undefined, { signal });
    }
  }
  await requireUtf8(dataSource, server);
}

/**
 * Host and port as the driver understands the URL.
 *
 * @throws StartupError when the driver does not, or cannot read a file that the URL names
 */
export function serverOf({ options }: DataSource): string {
  try {
    const { host, port } = new Client((options as PostgresDataSourceOptions).url);
    return `${host.includes(':') ? `[${host}]` : host}:${port}`;
  } catch (error) {
    throw new StartupError(`DATABASE_URL: ${describeFailure(error)}`, { cause: error });
  }
}

/** Whether waiting may help: not when one side turns the other away for who it is, or for its TLS. */
function mayHeal(failure: unknown): boolean {
  const error = driverFailure(failure);
  if (!isOutage(error) || isRefusal(error)) return false;
  // PgBouncer in statement mode refuses each transaction.
  if (error instanceof DatabaseError) return error.code !== '08P01';
  if (error.message === 'The server does not support SSL connections') return false;
  // System errors have codes such as ECONNREFUSED; OpenSSL's are `ERR_SSL_…`, `CERT_HAS_EXPIRED` and the like.
  const code = 'code' in error ? String(error.code) : 'E';
  return /^E(?!RR|PROTO)/.test(code);
}

/** Text must come back byte for byte, which other encodings cannot promise. */
async function requireUtf8(dataSource: DataSource, server: string): Promise<void> {
  const [row] = await dataSource.query<{ server_encoding: string }[]>('SHOW server_encoding');
  if (row?.server_encoding !== 'UTF8') {
    throw new StartupError(
      `DATABASE_URL: the database at ${server} must have the encoding UTF8, but has ${row?.server_encoding}`,
    );
  }
}
