import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { lockOf } from '../../database/advisory-locks.js';
import { isOutage } from '../../database/database-error.js';
import { poolOf } from '../../database/connections/bounded-pool.js';
import type { PoolClient } from '../../database/connections/pool-client.js';
import { DATABASE_LIMITS } from '../../database/limits.js';
import { describeError } from '../../observability/describe-error.js';

/**
 * The index is cleaned after this number of new characters, each of which takes about 20 bytes of the pending list of 4 MB. More
 * characters make a search and a cleaning slower, fewer make PostgreSQL write more WAL.
 */
const ENOUGH = 80_000;

export const RETRY = 10_000;

/**
 * Finds the function that this role may call. Only the owner may clean an index; another role calls a function of the owner, if
 * there is one. Servers that only resemble PostgreSQL have no pending lists, and on Citus, each shard has an index.
 */
const functionFor = (index: string) => `SELECT CASE
      WHEN pg_has_role(relowner, 'USAGE') THEN 'gin_clean_pending_list(''${index}'')'
      WHEN has_function_privilege(to_regprocedure('clean_${index}()'), 'EXECUTE') THEN 'clean_${index}()'
    END AS clean
  FROM pg_class JOIN pg_am ON pg_am.oid = relam
  WHERE pg_class.oid = to_regclass('${index}') AND amname = 'gin'`;

/** A search with a GIN index of pg_trgm. */
export type Search = { readonly index: string } & (
  | { readonly property: string }
  /** @deprecated Use `property`. */
  | { readonly member: string }
);

export function searchedProperty(search: Search): string {
  return 'property' in search ? search.property : search.member;
}

/**
 * Keeps requests from cleaning the GIN index of a search. PostgreSQL appends new texts to a pending list, and the statement that
 * fills it moves it into the index (manual, chapter 65.4.4.1). This moves it earlier, in a session that no request waits for.
 * Without it, some creates are slow (docs/decisions/pending-names.md).
 */
export class SearchIndex {
  private session: PoolClient | undefined;
  private clean = '';
  private cleaning: Promise<void> | undefined;
  private idle: NodeJS.Timeout | undefined;
  private characters = 0;
  private pausedUntil = 0;
  private isReported = false;
  private readonly property: string;

  constructor(
    private readonly search: Search,
    private readonly dataSource: DataSource,
    private readonly logger: Logger,
  ) {
    this.property = searchedProperty(search);
  }

  /** To be called with all stored rows. */
  note(rows: readonly object[]): void {
    for (const row of rows) {
      const { [this.property]: text } = row as Readonly<Record<string, unknown>>;
      // A word of n characters has n + 1 trigrams.
      if (typeof text === 'string') this.characters += text.length + 1;
    }
    const isDue = this.characters >= ENOUGH && performance.now() >= this.pausedUntil;
    if (isDue) this.cleaning ??= this.cleanOnce();
  }

  async close(): Promise<void> {
    this.pausedUntil = Infinity;
    await this.cleaning;
    clearTimeout(this.idle);
    await this.session?.end();
  }

  private async cleanOnce(): Promise<void> {
    clearTimeout(this.idle);
    const { characters } = this;
    this.characters = 0;
    try {
      const isKept = this.session !== undefined;
      if (!isKept) await this.open();
      try {
        await this.session?.query(this.clean);
      } catch (error) {
        // The server may have ended the idle session.
        if (!isKept || !isOutage(error)) throw error;
        this.closeSession();
        await this.open();
        await this.session?.query(this.clean);
      }
    } catch (error) {
      this.characters += characters;
      this.report(error);
      this.closeSession();
      this.pausedUntil = Math.max(this.pausedUntil, performance.now() + RETRY);
    }
    this.idle = setTimeout(() => this.closeSession(), DATABASE_LIMITS.idle).unref();
    this.cleaning = undefined;
  }

  private async open(): Promise<void> {
    const session = await poolOf(this.dataSource)!.connectApart('cleaner');
    this.session = session;
    session.once('end', () => {
      if (this.session === session) this.session = undefined;
    });
    const { rows } = await session.query<{ clean: string | null }>(functionFor(this.search.index));
    const mayClean = typeof rows[0]?.clean === 'string';
    if (mayClean && !session.hasCitus) {
      // Another replica with the lock moves the texts of this one, too. The lock ends with the transaction, because clients of a
      // pooler share sessions.
      this.clean = `SELECT ${rows[0]!.clean} WHERE pg_try_advisory_xact_lock(${lockOf(this.search.index)})`;
      return;
    }
    this.pausedUntil = Infinity;
    this.closeSession();
    this.logger.info(
      { index: this.search.index, mayClean, hasCitus: session.hasCitus },
      'the index of searches by name is cleaned by creates',
    );
  }

  private closeSession(): void {
    void this.session?.end().catch(() => {});
    this.session = undefined;
  }

  /** Not for lost connections, which the pool reports. */
  private report(error: unknown): void {
    if (this.isReported || !(error instanceof DatabaseError)) return;
    this.isReported = true;
    this.logger.warn(
      { index: this.search.index, reason: describeError(error) },
      'the index of searches by name cannot be cleaned',
    );
  }
}

/**
 * Warns if the LC_CTYPE of the database is `C`: then pg_trgm takes only ASCII letters for letters, and a search for other texts, which
 * have no trigrams, reads every row. Ignores errors: the role may lack access to the extension's schema, and others occur again
 * where they matter.
 */
export async function checkLetters(dataSource: DataSource, logger: Logger): Promise<void> {
  try {
    const [{ trigram } = {}] = await dataSource.query<{ trigram?: string }[]>(
      "SELECT quote_ident(nspname) || '.show_trgm' AS trigram FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm'",
    );
    if (trigram === undefined) return;
    const [blind] = await dataSource.query<{ ctype: string }[]>(
      `SELECT datctype AS ctype FROM pg_database WHERE datname = current_database() AND ${trigram}('яблоко') = '{}'`,
    );
    if (blind === undefined) return;
    logger.warn(
      { lcCtype: blind.ctype },
      'searches for names that are not ASCII are slow: move the rows to a database whose LC_CTYPE is of UTF-8, such as C.UTF-8 (docs/operations.md, "Locale of searches")',
    );
  } catch {}
}
