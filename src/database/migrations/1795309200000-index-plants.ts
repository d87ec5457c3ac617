import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IndexPlants1795309200000 implements MigrationInterface {
  readonly name = 'IndexPlants1795309200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    // First: Citus creates an extension only before it has created an index on several workers.
    await queryRunner.query(`CREATE EXTENSION IF NOT EXISTS "pg_trgm"`);
    await queryRunner.query(
      `CREATE INDEX IF NOT EXISTS "plants_tag_idx" ON "plants" (hashtextextended("tag", 0), "id") WHERE "tag" IS NOT NULL`,
    );
    await queryRunner.query(
      `CREATE INDEX IF NOT EXISTS "plants_name_idx" ON "plants" USING gin (translate(upper(lower(left("name", 1000) COLLATE "und-x-icu")), 'Σ', 'Ϲ') gin_trgm_ops)`,
    );
    await queryRunner.query(
      `CREATE INDEX IF NOT EXISTS "plants_long_name_idx" ON "plants" ("id") WHERE length("name") > 1000`,
    );
    // Without statistics of the new expressions, the planner would not use the indexes.
    await queryRunner.query(`ANALYZE "plants"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "plants_long_name_idx"`);
    await queryRunner.query(`DROP INDEX "plants_name_idx"`);
    // Other tables of the database may use the extension, so it stays.
    await queryRunner.query(`DROP INDEX "plants_tag_idx"`);
  }
}
