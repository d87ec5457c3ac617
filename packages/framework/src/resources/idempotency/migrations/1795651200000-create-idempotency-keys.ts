import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateIdempotencyKeys1795651200000 implements MigrationInterface {
  readonly name = 'CreateIdempotencyKeys1795651200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "idempotency_keys" (
        "operation" text NOT NULL,
        "principal" text NOT NULL,
        "key" text NOT NULL,
        "fingerprint" text NOT NULL,
        "answer" text,
        "created_at" timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("operation", "principal", "key")
      )`,
    );
    await queryRunner.query(
      `CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" ("created_at")`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "idempotency_keys"`);
  }
}
