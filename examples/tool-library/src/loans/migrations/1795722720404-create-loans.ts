import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateLoans1795722720404 implements MigrationInterface {
  readonly name = 'CreateLoans1795722720404';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "loans" ("id" uuid NOT NULL DEFAULT uuid_v7(), "tool_id" bigint NOT NULL, "borrower" text NOT NULL, CONSTRAINT "loans_pkey" PRIMARY KEY ("id"), CONSTRAINT "loans_tool_id_key" UNIQUE ("tool_id"), CONSTRAINT "loans_tool_id_fkey" FOREIGN KEY ("tool_id") REFERENCES "tools" ("id"))`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "loans"`);
  }
}
