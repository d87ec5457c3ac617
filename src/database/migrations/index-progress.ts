import type { DataSource } from 'typeorm';

/** How far the server has come with an index. Each phase counts anew (PostgreSQL manual, chapter 27.4.4). */
export interface IndexProgress {
  readonly index: string | null;
  readonly phase: string;
  readonly percent: number | null;
  /** The session whose transaction must end before the build goes on. */
  readonly waitsForSession: number | null;
}

/** The indexes that are being built in the database. */
export async function indexProgress(dataSource: DataSource): Promise<readonly IndexProgress[]> {
  return dataSource.query<IndexProgress[]>(
    `SELECT (SELECT relname FROM pg_class WHERE oid = index_relid) AS index, phase,
         floor(100.0 * coalesce(
           tuples_done / nullif(tuples_total, 0)::numeric,
           blocks_done / nullif(blocks_total, 0)::numeric
         ))::int AS percent,
         nullif(current_locker_pid, 0)::int AS "waitsForSession"
       FROM pg_stat_progress_create_index WHERE datname = current_database()`,
  );
}
