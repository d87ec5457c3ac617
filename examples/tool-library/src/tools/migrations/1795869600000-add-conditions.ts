import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddConditions1795869600000 implements MigrationInterface {
  readonly name = 'AddConditions1795869600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "tools"
      ADD "condition" text NOT NULL DEFAULT 'good',
      ADD CONSTRAINT "CHK_824e72e21be18b81d4bcaa0b96" CHECK ("condition" IN ('good', 'worn', 'broken'))`);
    await queryRunner.query(`CREATE INDEX "tools_condition_id_idx" ON "tools" ("condition", "id")`);
    await queryRunner.query(`CREATE INDEX "tools_borrower_id_idx" ON "tools" ("borrower", "id")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "tools_borrower_id_idx"`);
    await queryRunner.query(`ALTER TABLE "tools" DROP COLUMN "condition"`);
  }
}
