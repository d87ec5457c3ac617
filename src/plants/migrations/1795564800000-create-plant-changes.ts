import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createHistory, dropHistory } from '@resource-service/changes/migrations';

export class CreatePlantChanges1795564800000 implements MigrationInterface {
  readonly name = 'CreatePlantChanges1795564800000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "plant_changes" (
        "position" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        "time" timestamptz(3) NOT NULL DEFAULT now(),
        "kind" text NOT NULL,
        "principal" text NOT NULL,
        "request_id" text NOT NULL,
        "id" bigint NOT NULL,
        "name" text,
        "tag" text,
        CONSTRAINT "plant_changes_pkey" PRIMARY KEY ("position")
      )`,
    );
    await queryRunner.query(
      `CREATE INDEX "plant_changes_id_position_idx" ON "plant_changes" ("id", "position")`,
    );
    await createHistory(queryRunner, 'plant_changes', 'plant_store');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropHistory(queryRunner, 'plant_changes');
    await queryRunner.query(`DROP TABLE "plant_changes"`);
  }
}
