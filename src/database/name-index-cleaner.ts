import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { LOGGER } from '../observability/logger.js';
import { poolOf } from './bounded-pool.js';
import { describeFailure } from './database-failure.js';
import { DATABASE_LIMITS } from './limits.js';
import type { PoolClient } from './pool-client.js';

/** Times, in milliseconds. */
const TIMES = {
  /** From a write to the next cleaning. */
  interval: 250,
  /** From a failure to the next try. */
  retry: 10_000,
} as const;

const INDEX = 'plants_name_search_idx';

/** Key of the advisory lock of the replica that cleans. Any number works. */
const KEY = 7_526_841_015;

/** Only the owner may clean an index. Servers that are like PostgreSQL have no such lists. */
const MAY_CLEAN = `SELECT pg_has_role(relowner, 'USAGE') AS allowed
  FROM pg_class JOIN pg_am ON pg_am.oid = relam
  WHERE pg_class.oid = to_regclass('${INDEX}') AND amname = 'gin'`;

/** Without a row, another replica is cleaning. The lock ends with the transaction: behind a pooler, sessions are shared. */
const CLEAN = `SELECT gin_clean_pending_list('${INDEX}') WHERE pg_try_advisory_xact_lock(${KEY})`;

/**
 * Keeps a create from cleaning the index of searches by name. New names are appended to a list, and whoever finds it full
 * moves all of it into the index before its statement goes on (manual, chapter 65.4.4.1). So the list is moved before it
 * is full, in a session that no request waits for. Without the cleaner, everything works as well, with slower creates.
 */
@Injectable()
export class NameIndexCleaner implements OnModuleDestroy {
  private session: PoolClient | undefined;
  private cleaning: Promise<void> | undefined;
  private next: NodeJS.Timeout | undefined;
  private end: NodeJS.Timeout | undefined;
  private hasWrites = false;
  private isOff = false;
  private isReported = false;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** To be called after each statement that may have stored a name. */
  noteWrite(): void {
    this.hasWrites = true;
    if (this.next === undefined) this.schedule(TIMES.interval);
  }

  async onModuleDestroy(): Promise<void> {
    this.isOff = true;
    clearTimeout(this.next);
    clearTimeout(this.end);
    await this.cleaning;
    await this.session?.end();
  }

  private schedule(milliseconds: number): void {
    if (this.isOff) return;
    clearTimeout(this.end);
    this.next = setTimeout(() => {
      this.cleaning = this.work();
    }, milliseconds).unref();
  }

  private async work(): Promise<void> {
    this.hasWrites = false;
    let pause: number = TIMES.interval;
    try {
      // Another replica may be past the names of this one.
      if (!(await this.clean())) this.hasWrites = true;
    } catch (error) {
      this.report(error);
      this.closeSession();
      this.hasWrites = true;
      pause = TIMES.retry;
    }
    this.next = undefined;
    if (this.hasWrites) this.schedule(pause);
    else this.end = setTimeout(() => this.closeSession(), DATABASE_LIMITS.idle).unref();
  }

  /** @returns whether all names that were stored until now are in the index, or are not to be moved */
  private async clean(): Promise<boolean> {
    this.session ??= await this.open();
    if (this.session === undefined) return true;
    const { rowCount } = await this.session.query(CLEAN);
    return rowCount !== 0;
  }

  private async open(): Promise<PoolClient | undefined> {
    const session = await poolOf(this.dataSource)?.connectApart('plant-store cleaner');
    if (session === undefined) return undefined;
    session.once('end', () => {
      if (this.session === session) this.session = undefined;
    });
    const { rows } = await session.query<{ allowed: boolean }>(MAY_CLEAN);
    // On Citus, the shards have indexes of their own.
    if (rows[0]?.allowed === true && !session.hasCitus) return session;
    this.isOff = true;
    this.logger.info(
      { index: INDEX, isOwner: rows[0]?.allowed ?? null, hasCitus: session.hasCitus },
      'the service leaves the cleaning of the index to the creates',
    );
    await session.end();
    return undefined;
  }

  private closeSession(): void {
    void this.session?.end().catch(() => {});
    this.session = undefined;
  }

  /** Lost connections are reported by the pool, which loses its own. */
  private report(error: unknown): void {
    if (this.isReported || !(error instanceof DatabaseError)) return;
    this.isReported = true;
    this.logger.warn({ reason: describeFailure(error) }, 'the service cannot clean the index');
  }
}
