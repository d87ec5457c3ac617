import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';
import { escapeLiteral } from 'pg';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { waitAtMost } from '../../bounds/waits.js';
import { CONFIG } from '../../config/config.module.js';
import type { Config } from '../../config/config.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { describeError } from '../../observability/describe-error.js';
import { LOGGER } from '../../observability/logger.js';
import { ADVISORY_LOCKS } from '../advisory-locks.js';
import { isOutage } from '../database-error.js';
import { poolOf } from './bounded-pool.js';
import type { PoolClient } from './pool-client.js';

/** Locks that a replica holds at once, each with a connection beside the pool; times in milliseconds. */
export const LOCK_LIMITS = {
  held: 8,
  timeout: 600_000,
  beat: 5_000,
  /** PostgreSQL ends a session without heartbeats: a replica that is paused or cut off does not keep others from the job. */
  silence: 20_000,
  shutdown: 3_000,
} as const;

/** The longest delay of a timer, in milliseconds: a longer one ends at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** Options of {@link Locks.tryRun}. */
export interface LockOptions {
  /** Milliseconds until the signal of the job aborts, at most 2,147,483,647; 10 min by default. */
  readonly timeout?: number;
}

/** Work that one replica at a time does, such as the jobs of a schedule. */
@Injectable()
export class Locks implements OnModuleDestroy {
  private readonly jobs = new Map<Promise<void>, AbortController>();
  private count = 0;
  private isClosing = false;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.isClosing = true;
    for (const end of this.jobs.values()) end.abort(new ServiceException(ERRORS.shuttingDown));
    await waitAtMost(LOCK_LIMITS.shutdown, Promise.allSettled(this.jobs.keys()));
  }

  /**
   * Runs a job, unless it runs already: in this replica or in another one of the service. The lock has a connection of its own and
   * ends with it, so a replica that is killed hands over at once, and one that is cut off after 20 s.
   *
   * @param name what is locked, such as the name of the job
   * @param job must end when its signal aborts: because the lock is lost, its time is over, or the service shuts down. Until it
   *   has ended, this replica keeps the lock if it can
   * @returns whether it ran
   * @throws what the job throws
   * @throws TypeError for a timeout that is not valid
   * @throws ServiceException `pool-exhausted` if this replica holds too many locks, `database-unavailable`, `shutting-down`
   *
   * @example
   * @Interval(60_000)
   * async expire() {
   *   await this.locks.tryRun('expire-bookings', (signal) => this.bookings.expire(Actor.system('expire-bookings'), signal));
   * }
   */
  async tryRun(
    name: string,
    job: (signal: AbortSignal) => unknown,
    { timeout = LOCK_LIMITS.timeout }: LockOptions = {},
  ): Promise<boolean> {
    if (!Number.isInteger(timeout) || timeout < 1 || timeout > MAX_TIMEOUT) {
      throw new TypeError(`the timeout of the lock ${name} is not 1 to ${MAX_TIMEOUT} ms`);
    }
    if (this.isClosing) throw new ServiceException(ERRORS.shuttingDown);
    if (this.count >= LOCK_LIMITS.held) throw new ServiceException(ERRORS.poolExhausted);
    this.count += 1;
    try {
      const session = await this.take(name);
      if (session === undefined) return false;
      if (this.isClosing) {
        session.abandon();
        throw new ServiceException(ERRORS.shuttingDown);
      }
      const end = new AbortController();
      const running = this.run(name, session, job, timeout, end);
      this.jobs.set(running, end);
      await running.finally(() => this.jobs.delete(running));
      return true;
    } finally {
      this.count -= 1;
    }
  }

  private async run(
    name: string,
    session: PoolClient,
    job: (signal: AbortSignal) => unknown,
    timeout: number,
    end: AbortController,
  ): Promise<void> {
    const done = new AbortController();
    const stop = (reason: string): void => {
      if (done.signal.aborted || end.signal.aborted) return;
      this.logger.warn({ lock: name, reason }, 'a job must end');
      end.abort(new Error(`${name}: ${reason}`));
    };
    const timer = setTimeout(() => stop(`it has not ended after ${timeout} ms`), timeout).unref();
    session.once('end', () => stop('the lock is lost: its connection is closed'));
    void keepAlive(session, done.signal, (error) =>
      stop(`the lock is lost: ${describeError(error)}`),
    );
    try {
      await job(end.signal);
    } finally {
      done.abort();
      clearTimeout(timer);
      await release(session);
    }
  }

  /**
   * A lock of a transaction, because clients of a pooler share sessions. It takes no snapshot that it keeps, so it hinders neither
   * VACUUM nor migrations (migration-lock.ts).
   */
  private async take(name: string): Promise<PoolClient | undefined> {
    const pool = poolOf(this.dataSource);
    if (pool === undefined) throw new Error('the database is not connected yet');
    const { identity } = this.config;
    // Of another schema, another service. The key has 32 bits of the hash.
    const text = `concat_ws(' ', ${escapeLiteral(identity.name)}, current_schema(), ${escapeLiteral(name)})`;
    const key = `${ADVISORY_LOCKS.named} | (hashtextextended(${text}, 0) & ${2 ** 32 - 1})`;
    let session: PoolClient | undefined;
    try {
      session = await pool.connectApart('lock');
      await session.query('START TRANSACTION');
      await session.query(
        `SET LOCAL idle_in_transaction_session_timeout = ${LOCK_LIMITS.silence};
         SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'`,
      );
      const { rows } = await session.query<{ taken: boolean }>(
        `SELECT pg_try_advisory_xact_lock(${key}) AS taken`,
      );
      if (rows[0]?.taken === true) return session;
      await release(session);
      return undefined;
    } catch (error) {
      session?.abandon();
      throw isOutage(error) ? new ServiceException(ERRORS.databaseUnavailable) : error;
    }
  }
}

async function keepAlive(
  session: PoolClient,
  done: AbortSignal,
  lose: (error: unknown) => void,
): Promise<void> {
  try {
    for (;;) {
      await sleep(LOCK_LIMITS.beat, undefined, { signal: done, ref: false });
      await session.query('SELECT');
    }
  } catch (error) {
    lose(error);
  }
}

/** When it returns, others find the lock free. */
async function release(session: PoolClient): Promise<void> {
  try {
    await session.query('ROLLBACK');
    void session.end().catch(() => {});
  } catch {
    session.abandon();
  }
}
