import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateConfirmations1795880690252 implements MigrationInterface {
  readonly name = 'CreateConfirmations1795880690252';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE TABLE "confirmations" (
      "id" bigint NOT NULL,
      "booking_id" bigint NOT NULL,
      "text" text NOT NULL,
      CONSTRAINT "confirmations_pkey" PRIMARY KEY ("id")
    )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "confirmations"`);
  }
}
