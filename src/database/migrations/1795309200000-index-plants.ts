import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IndexPlants1795309200000 implements MigrationInterface {
  readonly name = 'IndexPlants1795309200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE INDEX "plants_tag_idx" ON "plants" (hashtextextended("tag", 0), "id") WHERE "tag" IS NOT NULL`,
    );
    await queryRunner.query(`CREATE EXTENSION IF NOT EXISTS "pg_trgm"`);
    await queryRunner.query(
      `CREATE INDEX "plants_name_idx" ON "plants" USING gin (upper(lower(left("name", 1000) COLLATE "und-x-icu")) gin_trgm_ops)`,
    );
    await queryRunner.query(
      `CREATE INDEX "plants_long_name_idx" ON "plants" ("id") WHERE length("name") > 1000`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "plants_long_name_idx"`);
    await queryRunner.query(`DROP INDEX "plants_name_idx"`);
    // Other tables of the database may use the extension, so it stays.
    await queryRunner.query(`DROP INDEX "plants_tag_idx"`);
  }
}
