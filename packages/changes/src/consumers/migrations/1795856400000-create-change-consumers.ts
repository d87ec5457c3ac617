import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateChangeConsumers1795856400000 implements MigrationInterface {
  readonly name = 'CreateChangeConsumers1795856400000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "change_consumers" (
        "name" text NOT NULL,
        "position" bigint,
        "holder" text,
        "leased_until" timestamptz(3),
        CONSTRAINT "change_consumers_pkey" PRIMARY KEY ("name")
      )`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "change_consumers"`);
  }
}
