import { setTimeout as sleep } from 'node:timers/promises';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { describeError } from '../../observability/describe-error.js';
import { knownToken, TOKEN_COLUMNS } from './known-token.js';
import type { KnownToken, TokenRow } from './known-token.js';
import { isTokenId } from './token-format.js';

/** In milliseconds. */
export const REGISTER_TIMES = {
  /** Between two reads of the table. */
  refresh: 5_000,
  /** Between the beginnings of two reads, whatever tokens arrive and whatever fails. */
  pause: 1_000,
  /** Maximum age of the register, during an outage of the database. */
  maxAge: 60_000,
} as const;

export type RegisterTimes = Readonly<Record<keyof typeof REGISTER_TIMES, number>>;

const MAX_WAITING = 1_000;

/**
 * The rows, if they do not match the given fingerprint, and the fingerprint. It shows any change of a row, also by
 * hand or by a transaction that has committed late. The last use is not part of it, or each use would change it.
 */
const READ = `WITH content AS (
    SELECT coalesce(sum(hashtextextended(ROW(id, name, scopes, secret_hash, previous_hash, previous_expires_at, expires_at,
      revoked_at)::text, 0)), 0)::text AS fingerprint
    FROM access_tokens
  )
  SELECT fingerprint, ${TOKEN_COLUMNS} FROM content LEFT JOIN access_tokens ON fingerprint <> $1`;

type Row = { readonly fingerprint: string } & (TokenRow | { readonly id: null });

/** All issued tokens, in memory. A request needs no read, and each replica knows a change a few seconds later. */
export class TokenRegister implements OnModuleInit, OnModuleDestroy {
  private tokens: ReadonlyMap<string, KnownToken> = new Map();
  private fingerprint = '';
  /** The begin of the last successful read. */
  private readAt = -Infinity;
  /** The begin of the last read. */
  private begunAt = -Infinity;
  private hasFailed = false;
  private isReported = false;
  private reading: Promise<void> | undefined;
  /** A read that has not begun yet. */
  private upcoming: Promise<void> | undefined;
  private waiting = 0;
  private nextRead: NodeJS.Timeout | undefined;
  private readonly closing = new AbortController();

  constructor(
    private readonly statements: Statements,
    private readonly logger: Logger,
    private readonly times: RegisterTimes = REGISTER_TIMES,
  ) {}

  /** Before the service is ready. A database that fails just now does not stop the start. */
  async onModuleInit(): Promise<void> {
    await this.read().catch(() => {});
  }

  onModuleDestroy(): void {
    this.closing.abort();
    clearTimeout(this.nextRead);
  }

  find(id: string): KnownToken | undefined {
    return this.tokens.get(id);
  }

  /** Milliseconds since the last successful read. Infinite before the first. */
  get age(): number {
    return performance.now() - this.readAt;
  }

  /** @throws ServiceException `database-unavailable` if the last read is too long ago */
  requireFresh(): void {
    if (this.age > this.times.maxAge) throw unavailable();
  }

  /**
   * Reads the table again, for a token that is not in the register: it may have been issued just now. All callers
   * share a read that begins after their calls. Reads have a pause between them, so a flood of such tokens does not
   * reach the database.
   *
   * @throws ServiceException `database-unavailable`, `overloaded` if too many requests wait
   */
  async readAgain(): Promise<void> {
    if (this.hasFailed && performance.now() - this.begunAt < this.times.pause) throw unavailable();
    if (this.waiting >= MAX_WAITING) throw new ServiceException(ERRORS.overloaded);
    this.waiting += 1;
    try {
      await this.readNext();
    } catch {
      throw unavailable();
    } finally {
      this.waiting -= 1;
    }
  }

  private readNext(): Promise<void> {
    this.upcoming ??= this.readAfterPause();
    return this.upcoming;
  }

  private async readAfterPause(): Promise<void> {
    await this.reading?.catch(() => {});
    const pause = this.begunAt + this.times.pause - performance.now();
    if (pause > 0) await sleep(pause, undefined, { signal: this.closing.signal, ref: false });
    this.upcoming = undefined;
    await this.read();
  }

  private async read(): Promise<void> {
    clearTimeout(this.nextRead);
    const begin = performance.now();
    this.begunAt = begin;
    try {
      this.reading = this.load();
      await this.reading;
      this.readAt = begin;
      this.hasFailed = false;
      if (this.isReported) this.logger.info('issued tokens are accepted again');
      this.isReported = false;
    } catch (error) {
      this.hasFailed = true;
      this.report(error);
      throw error;
    } finally {
      this.schedule();
    }
  }

  private async load(): Promise<void> {
    const { rows } = await this.statements.run<Row>({
      name: 'read-access-tokens',
      text: READ,
      values: [this.fingerprint],
    });
    const [first] = rows;
    if (first === undefined) throw new Error('the reading has no row');
    if (first.fingerprint === this.fingerprint) return;
    const found = rows.filter((row): row is Row & TokenRow => row.id !== null && isTokenId(row.id));
    this.tokens = new Map(found.map((row) => [row.id, knownToken(row)]));
    this.fingerprint = first.fingerprint;
  }

  private schedule(): void {
    if (this.closing.signal.aborted) return;
    const delay = this.hasFailed ? this.times.pause : this.times.refresh;
    this.nextRead = setTimeout(() => void this.readNext().catch(() => {}), delay).unref();
  }

  /** The pool reports outages. This reports when an error has lasted too long for the tokens. */
  private report(error: unknown): void {
    if (this.isReported || this.age <= this.times.maxAge) return;
    this.isReported = true;
    this.logger.error(
      { reason: describeError(error) },
      'issued tokens cannot be verified: the table access_tokens cannot be read',
    );
  }
}

function unavailable(): ServiceException {
  return new ServiceException(ERRORS.databaseUnavailable);
}
