import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateGardens1795395600000 implements MigrationInterface {
  readonly name = 'CreateGardens1795395600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "gardens" ("id" bigint NOT NULL, "name" text NOT NULL, "note" text, CONSTRAINT "gardens_pkey" PRIMARY KEY ("id"))`,
    );
    // #region plants
    await queryRunner.query(`ALTER TABLE "gardens" ADD "plant_id" bigint`);
    await queryRunner.query(
      `ALTER TABLE "gardens" ADD CONSTRAINT "gardens_plant_id_fkey" FOREIGN KEY ("plant_id") REFERENCES "plants"("id") ON DELETE SET NULL`,
    );
    // For lists of the gardens with a plant, and for the removal of a plant.
    await queryRunner.query(
      `CREATE INDEX "gardens_plant_id_idx" ON "gardens" ("plant_id", "id") WHERE "plant_id" IS NOT NULL`,
    );
    await queryRunner.query(
      `CREATE INDEX "gardens_name_sort_idx" ON "gardens" (left("name", 100) COLLATE "C", "id")`,
    );
    // #endregion
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "gardens"`);
  }
}
