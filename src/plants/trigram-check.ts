import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { LOGGER } from '../observability/logger.js';

/** The search path need not have its schema. */
const EXTENSION = `SELECT quote_ident(nspname) AS schema
  FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm'`;

interface Trigrams {
  readonly ctype: string;
  /** Of a word that is not ASCII. */
  readonly trigrams: number;
}

/**
 * Warns at the start if only ASCII letters are letters for pg_trgm, because the LC_CTYPE of the database is `C`. Other
 * names have no trigrams then, and a search for them reads every name.
 */
@Injectable()
export class TrigramCheck implements OnModuleInit {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    const rows = await this.trigrams()
      // The role may not use the schema of the extension. Whatever else fails will fail again, where it matters.
      .catch(() => []);
    for (const { ctype, trigrams } of rows) {
      if (trigrams > 0) continue;
      this.logger.warn(
        { lcCtype: ctype },
        'searches for names that are not ASCII are slow: move the plants to a database whose LC_CTYPE is of UTF-8, such as C.UTF-8 (docs/operations.md, "Letters of searches")',
      );
    }
  }

  private async trigrams(): Promise<readonly Trigrams[]> {
    const [extension] = await this.dataSource.query<{ schema: string }[]>(EXTENSION);
    if (extension === undefined) return [];
    return this.dataSource.query<Trigrams[]>(
      `SELECT datctype AS ctype, cardinality(${extension.schema}.show_trgm('яблоко')) AS trigrams
         FROM pg_database WHERE datname = current_database()`,
    );
  }
}
