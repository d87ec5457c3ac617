import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';

/**
 * Warns if only ASCII letters are letters for pg_trgm, because the LC_CTYPE of the database is `C`. Other names have no
 * trigrams then, and a search for them reads every name.
 */
export async function warnOfMissingTrigrams(dataSource: DataSource, log: Logger): Promise<void> {
  const rows = await dataSource
    .query<{ ctype: string; trigrams: number }[]>(
      `SELECT datctype AS ctype, cardinality(show_trgm('яблоко')) AS trigrams
       FROM pg_database WHERE datname = current_database()`,
    )
    // Without the extension there is no such function. Whatever else fails will fail again, where it matters.
    .catch(() => []);
  for (const { ctype, trigrams } of rows) {
    if (trigrams > 0) continue;
    log.warn(
      { lcCtype: ctype },
      'searches for names that are not ASCII are slow: move the plants to a database whose LC_CTYPE is of UTF-8, such as C.UTF-8 (docs/operations.md, "Letters of searches")',
    );
  }
}
