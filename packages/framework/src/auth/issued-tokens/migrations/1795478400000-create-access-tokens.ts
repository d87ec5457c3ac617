import type { MigrationInterface, QueryRunner } from 'typeorm';

/** On Citus, the table stays on the coordinator: each replica keeps the tokens in memory. */
export class CreateAccessTokens1795478400000 implements MigrationInterface {
  readonly name = 'CreateAccessTokens1795478400000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "access_tokens" (
        "id" text NOT NULL,
        "name" text NOT NULL,
        "scopes" text array NOT NULL,
        "secret_hash" bytea NOT NULL,
        "previous_hash" bytea,
        "previous_expires_at" timestamptz(3),
        "created_at" timestamptz(3) NOT NULL DEFAULT now(),
        "issued_at" timestamptz(3) NOT NULL DEFAULT now(),
        "expires_at" timestamptz(3),
        "revoked_at" timestamptz(3),
        "last_used_at" timestamptz(3),
        CONSTRAINT "access_tokens_pkey" PRIMARY KEY ("id")
      )`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "access_tokens"`);
  }
}
