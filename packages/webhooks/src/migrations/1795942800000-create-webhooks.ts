import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateWebhooks1795942800000 implements MigrationInterface {
  readonly name = 'CreateWebhooks1795942800000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "webhooks" (
        "id" uuid NOT NULL DEFAULT uuid_v7(),
        "url" text NOT NULL,
        "kinds" text[] NOT NULL DEFAULT '{}',
        "resources" text[] NOT NULL DEFAULT '{}',
        "paused_reason" text,
        "paused_at" timestamptz(3),
        "failing_since" timestamptz(3),
        "waiting_since" timestamptz(3),
        "next_attempt_at" timestamptz(3),
        "last_error" text,
        "attempts" integer NOT NULL DEFAULT 0,
        "positions" jsonb NOT NULL,
        "secret" text NOT NULL,
        "previous_secret" text,
        "previous_until" timestamptz(3),
        "holder" text,
        "leased_until" timestamptz(3),
        CONSTRAINT "CHK_1433d8363792b26bf6ad23bed6" CHECK ("paused_reason" IN ('failing', 'gone', 'changes-pruned', 'changes-unrecorded', 'position-unknown')),
        CONSTRAINT "webhooks_pkey" PRIMARY KEY ("id")
      )`,
    );
    await queryRunner.query(
      `CREATE TABLE "webhook_deliveries" (
        "id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        "webhook_id" uuid NOT NULL,
        "message_id" text NOT NULL,
        "type" text NOT NULL,
        "time" timestamptz(3) NOT NULL,
        "outcome" text NOT NULL,
        "status" integer,
        "reason" text,
        "response" text,
        CONSTRAINT "CHK_9274bd8fe9fe859863439a311a" CHECK ("outcome" IN ('delivered', 'failed', 'gone')),
        CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "webhook_deliveries_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "webhooks" ("id") ON DELETE CASCADE
      )`,
    );
    await queryRunner.query(
      `CREATE INDEX "webhook_deliveries_webhook_id_id_idx" ON "webhook_deliveries" ("webhook_id", "id")`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "webhook_deliveries"`);
    await queryRunner.query(`DROP TABLE "webhooks"`);
  }
}
