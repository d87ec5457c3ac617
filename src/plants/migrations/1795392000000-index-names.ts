import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexOnline, dropIndexOnline } from '../../database/migrations/online-index.js';

export class IndexNames1795392000000 implements MigrationInterface {
  readonly name = 'IndexNames1795392000000';
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE EXTENSION IF NOT EXISTS "pg_trgm"`);
    // The expression of a search in src/plants/plants.filters.ts.
    await createIndexOnline(
      queryRunner,
      'plants_name_search_idx',
      `ON "plants" USING gin ((translate(upper(lower(left("name", 4000) COLLATE "und-x-icu")), 'Σ', 'Ϲ')) gin_trgm_ops)`,
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
