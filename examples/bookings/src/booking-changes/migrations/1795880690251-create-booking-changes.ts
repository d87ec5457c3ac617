import { createChanges, dropChanges } from '@resource-service/changes/migrations';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = { table: 'bookings', changes: 'booking_changes' };

export class CreateBookingChanges1795880690251 implements MigrationInterface {
  readonly name = 'CreateBookingChanges1795880690251';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE TABLE "booking_changes" (
      "position" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      "time" timestamptz(3) NOT NULL DEFAULT now(),
      "kind" text NOT NULL,
      "principal" text NOT NULL,
      "request_id" text NOT NULL,
      "id" bigint NOT NULL,
      "room_id" bigint,
      "starts_on" date,
      "nights" integer,
      "note" text,
      "status" text,
      "price" numeric(8,2),
      "owner" text,
      CONSTRAINT "booking_changes_pkey" PRIMARY KEY ("position")
    )`);
    await queryRunner.query(
      `CREATE INDEX "booking_changes_id_position_idx" ON "booking_changes" ("id", "position")`,
    );
    await createChanges(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropChanges(queryRunner, TABLES);
    await queryRunner.query(`DROP TABLE "booking_changes"`);
  }
}
