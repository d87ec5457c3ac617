import { createChanges, dropChanges } from '@resource-service/changes/migrations';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = { table: 'loans', changes: 'loan_changes' };

export class CreateLoanChanges1795722720405 implements MigrationInterface {
  readonly name = 'CreateLoanChanges1795722720405';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE TABLE "loan_changes" (
      "position" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      "time" timestamptz(3) NOT NULL DEFAULT now(),
      "kind" text NOT NULL,
      "principal" text NOT NULL,
      "request_id" text NOT NULL,
      "id" uuid NOT NULL,
      "tool_id" bigint,
      "borrower" text,
      CONSTRAINT "loan_changes_pkey" PRIMARY KEY ("position")
    )`);
    await queryRunner.query(
      `CREATE INDEX "loan_changes_id_position_idx" ON "loan_changes" ("id", "position")`,
    );
    await createChanges(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropChanges(queryRunner, TABLES);
    await queryRunner.query(`DROP TABLE "loan_changes"`);
  }
}
