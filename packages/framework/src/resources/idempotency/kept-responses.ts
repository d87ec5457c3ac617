import type { Statements } from '../../database/statements.js';

const HOUR = 3_600_000;

/** The bytes of the responses count as PostgreSQL stores them. */
export const KEPT = { hours: 24, rows: 1_000_000, bytes: 1024 ** 3 } as const;

/** Limits of a statement, so that it is short even on a slow disk. */
const PART = { rows: 1_000, bytes: 32 * 1024 ** 2 } as const;

interface Amount {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Reads a part in the order of the index on `created_at`: all rows of one time, or more. Transactions of the last minute may not
 * have committed. Rows that commit even later are not counted, but evicted and removed with their part.
 */
const READ = `WITH next AS (
    SELECT created_at, coalesce(pg_column_size(answer), 0) AS bytes FROM idempotency_keys
    WHERE created_at > $1 AND created_at < now() - interval '1 minute'
    ORDER BY created_at FETCH FIRST ($2) ROWS WITH TIES
  ), summed AS (
    SELECT created_at, count(*) OVER up_to AS rows, sum(bytes) OVER up_to AS bytes FROM next WINDOW up_to AS (ORDER BY created_at)
  )
  SELECT created_at AS until, rows::integer, bytes::float8, rows >= $2 OR rows < (SELECT count(*) FROM next) AS is_more
  FROM summed WHERE bytes <= $3 OR created_at = (SELECT min(created_at) FROM next)
  ORDER BY created_at DESC LIMIT 1`;

/** Skips locked rows: a repeated request holds its row, and needs the response. */
const EVICT = `UPDATE idempotency_keys SET answer = NULL WHERE ctid IN (
    SELECT ctid FROM idempotency_keys WHERE created_at > $1 AND created_at <= $2 AND answer IS NOT NULL FOR UPDATE SKIP LOCKED
  )`;

const REMOVE = `DELETE FROM idempotency_keys WHERE ctid IN (
    SELECT ctid FROM idempotency_keys WHERE created_at > $1 AND created_at <= $2 FOR UPDATE SKIP LOCKED
  )`;

/** Rows that were created after `after`, and not after `until`. */
interface Part extends Amount {
  readonly after: Date;
  readonly until: Date;
}

type NextPart = Omit<Part, 'after'> & { readonly is_more: boolean };

/**
 * Bounds the kept keys and responses. After a start, each replica reads each row once, in parts, and remembers the sum of each part:
 * neither a large table nor one at its limit is read again. All replicas remove the oldest parts first, so a part that another one has
 * removed only costs a statement that finds nothing.
 */
export class KeptResponses {
  private parts: readonly Part[] = [];

  constructor(
    private readonly statements: Statements,
    private readonly limit: Amount = KEPT,
    private readonly part: Amount = PART,
  ) {}

  /**
   * Reads one part. Removes the oldest keys if there are too many, or evicts the oldest responses if they have too many bytes.
   * Their keys stay, so that no request is performed twice. Returns whether there is more to do at once.
   */
  async trim(): Promise<boolean> {
    const isMore = await this.read();
    const [oldest] = this.parts;
    if (oldest !== undefined && this.sum('rows') - oldest.rows >= this.limit.rows) {
      await this.change(REMOVE, oldest);
      this.parts = this.parts.slice(1);
      return true;
    }
    const full = this.parts.find(({ bytes }) => bytes > 0);
    if (full === undefined || this.sum('bytes') <= this.limit.bytes) return isMore;
    await this.change(EVICT, full);
    this.parts = this.parts.map((part) => (part === full ? { ...full, bytes: 0 } : part));
    return true;
  }

  private async read(): Promise<boolean> {
    const after = this.parts.at(-1)?.until ?? new Date(0);
    const values = [after, this.part.rows, this.part.bytes];
    const { rows } = await this.statements.run<NextPart>({ text: READ, values });
    const [next] = rows;
    if (next === undefined) return false;
    const { until, is_more: isMore, ...amount } = next;
    // By the clock of the database. Older keys are pruned elsewhere.
    const young = until.getTime() - KEPT.hours * HOUR;
    const kept = this.parts.filter((part) => part.until.getTime() >= young);
    this.parts = [...kept, { ...amount, after, until }];
    return isMore;
  }

  private async change(text: string, { after, until }: Part): Promise<void> {
    await this.statements.run({ text, values: [after, until] });
  }

  private sum(unit: keyof Amount): number {
    return this.parts.reduce((sum, part) => sum + part[unit], 0);
  }
}
