import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { LOGGER } from '../observability/logger.js';
import { ADVISORY_LOCKS } from '../database/advisory-locks.js';
import { poolOf } from '../database/connections/bounded-pool.js';
import { describeFailure } from '../observability/describe-failure.js';
import { DATABASE_LIMITS } from '../database/limits.js';
import type { PoolClient } from '../database/connections/pool-client.js';

/**
 * New characters of names after which the index is cleaned. Each takes about 20 bytes of the list, which is full at 4 MB.
 * More make a search slower and a cleaning longer, fewer make PostgreSQL write more WAL.
 */
const ENOUGH = 80_000;

/** From a failure to the next try, in milliseconds. */
const RETRY = 10_000;

const INDEX = 'plants_name_search_idx';

/**
 * Only the owner may clean an index. Another role calls a function of the owner, if the database has it (CleanNames) and
 * the role may. Indexes of servers that only resemble PostgreSQL have no such list.
 */
const MEANS = `SELECT CASE
      WHEN pg_has_role(relowner, 'USAGE') THEN 'owner'
      WHEN has_function_privilege(to_regprocedure('clean_${INDEX}()'), 'EXECUTE') THEN 'function'
    END AS means
  FROM pg_class JOIN pg_am ON pg_am.oid = relam
  WHERE pg_class.oid = to_regclass('${INDEX}') AND amname = 'gin'`;

/**
 * If another replica has the lock, it moves the names of this one as well. The lock ends with the transaction, because
 * clients of a pooler share sessions.
 */
const CLEAN = {
  owner: `SELECT gin_clean_pending_list('${INDEX}') WHERE pg_try_advisory_xact_lock(${ADVISORY_LOCKS.nameIndex})`,
  function: `SELECT clean_${INDEX}() WHERE pg_try_advisory_xact_lock(${ADVISORY_LOCKS.nameIndex})`,
} as const;

type Means = keyof typeof CLEAN;

/**
 * Keeps creates from cleaning the index of searches by name. PostgreSQL appends new names to a list, and the statement
 * that finds the list full first moves it into the index (manual, chapter 65.4.4.1). This moves it earlier, in a session
 * that no request waits for. Without it, everything works as well, with some slow creates.
 */
@Injectable()
export class NameIndexCleaner implements OnModuleDestroy {
  private session: PoolClient | undefined;
  private means: Means = 'owner';
  private cleaning: Promise<void> | undefined;
  /** Closes the session when it was idle for long. */
  private idle: NodeJS.Timeout | undefined;
  private characters = 0;
  private pausedUntil = 0;
  private isReported = false;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** To be called after each statement that has stored names. */
  noteNames(names: readonly string[]): void {
    // A word of n characters has n + 1 trigrams.
    for (const { length } of names) this.characters += length + 1;
    const isDue = this.characters >= ENOUGH && performance.now() >= this.pausedUntil;
    if (isDue && this.cleaning === undefined) this.cleaning = this.clean();
  }

  async onModuleDestroy(): Promise<void> {
    this.pausedUntil = Infinity;
    await this.cleaning;
    clearTimeout(this.idle);
    await this.session?.end();
  }

  private async clean(): Promise<void> {
    clearTimeout(this.idle);
    this.characters = 0;
    try {
      if (this.session === undefined) await this.open();
      await this.session?.query(CLEAN[this.means]);
    } catch (error) {
      this.report(error);
      this.closeSession();
      this.pausedUntil = Math.max(this.pausedUntil, performance.now() + RETRY);
    }
    this.idle = setTimeout(() => this.closeSession(), DATABASE_LIMITS.idle).unref();
    this.cleaning = undefined;
  }

  private async open(): Promise<void> {
    const session = await poolOf(this.dataSource)!.connectApart('plant-store cleaner');
    this.session = session;
    session.once('end', () => {
      if (this.session === session) this.session = undefined;
    });
    const { rows } = await session.query<{ means: Means | null }>(MEANS);
    const means = rows[0]?.means ?? undefined;
    // On Citus, each shard has an index of its own.
    if (means !== undefined && !session.hasCitus) {
      this.means = means;
      return;
    }
    this.pausedUntil = Infinity;
    this.closeSession();
    this.logger.info(
      { index: INDEX, mayClean: means !== undefined, hasCitus: session.hasCitus },
      'the index of searches by name is cleaned by creates',
    );
  }

  private closeSession(): void {
    void this.session?.end().catch(() => {});
    this.session = undefined;
  }

  /** The pool reports lost connections, because it loses its own. */
  private report(error: unknown): void {
    if (this.isReported || !(error instanceof DatabaseError)) return;
    this.isReported = true;
    this.logger.warn(
      { index: INDEX, reason: describeFailure(error) },
      'the index of searches by name cannot be cleaned',
    );
  }
}
