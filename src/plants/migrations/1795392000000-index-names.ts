import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexOnline, dropIndexOnline } from '@resource-service/framework';

/** Often a schema of extensions, which the search path need not have. */
const EXTENSION = `SELECT quote_ident(nspname) AS schema
  FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm'`;

interface Extension {
  readonly schema: string;
}

export class IndexNames1795392000000 implements MigrationInterface {
  readonly name = 'IndexNames1795392000000';
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE EXTENSION IF NOT EXISTS "pg_trgm"`);
    const [extension] = (await queryRunner.query(EXTENSION)) as readonly Extension[];
    // The expression of a search in src/plants/plants.filters.ts.
    await createIndexOnline(
      queryRunner,
      'plants_name_search_idx',
      `ON "plants" USING gin ((translate(upper(lower(left("name", 4000) COLLATE "und-x-icu")), 'Σ', 'Ϲ')) ${extension!.schema}.gin_trgm_ops)`,
    );
    // Without statistics of the new expression, the planner would not use the index.
    await queryRunner.query(`ANALYZE "plants"`);
    // Databases that were made between the releases 1.0.0 and 1.1.0 have these instead.
    await dropIndexOnline(queryRunner, 'plants_name_idx');
    await dropIndexOnline(queryRunner, 'plants_long_name_idx');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    // Other tables of the database may use the extension, so it stays.
    await dropIndexOnline(queryRunner, 'plants_name_search_idx');
  }
}
