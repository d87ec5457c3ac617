import { createChanges, dropChanges } from '@resource-service/changes/migrations';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = { table: 'sample_items', changes: 'sample_item_changes' };

export class CreateSampleItemChanges1795395600001 implements MigrationInterface {
  readonly name = 'CreateSampleItemChanges1795395600001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE TABLE "sample_item_changes" (
      "position" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      "time" timestamptz(3) NOT NULL DEFAULT now(),
      "kind" text NOT NULL,
      "principal" text NOT NULL,
      "request_id" text NOT NULL,
      "id" bigint NOT NULL,
      "name" text,
      "note" text,
      CONSTRAINT "sample_item_changes_pkey" PRIMARY KEY ("position")
    )`);
    await queryRunner.query(
      `CREATE INDEX "sample_item_changes_id_position_idx" ON "sample_item_changes" ("id", "position")`,
    );
    await createChanges(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropChanges(queryRunner, TABLES);
    await queryRunner.query(`DROP TABLE "sample_item_changes"`);
  }
}
