import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreatePlants1763683200000 implements MigrationInterface {
  readonly name = 'CreatePlants1763683200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "plants" ("id" bigint NOT NULL, "name" text NOT NULL, "tag" text, CONSTRAINT "plants_pkey" PRIMARY KEY ("id"))`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "plants"`);
  }
}
