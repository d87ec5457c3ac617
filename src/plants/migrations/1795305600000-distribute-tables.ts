import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Distributes the tables over the workers of Citus. Does nothing without the extension. */
export class DistributeTables1795305600000 implements MigrationInterface {
  readonly name = 'DistributeTables1795305600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    if (!(await hasCitus(queryRunner))) return;
    // Otherwise Citus refuses extensions and objects on several workers later in the transaction.
    await queryRunner.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
    // An operator may have distributed the table already, with `create_distributed_table_concurrently`.
    await queryRunner.query(
      `SELECT create_distributed_table(t, 'id') FROM CAST('plants' AS regclass) AS t
         WHERE t NOT IN (SELECT logicalrelid FROM pg_dist_partition)`,
    );
    await queryRunner.query(
      `SELECT create_reference_table(t) FROM CAST('plant_store_migrations' AS regclass) AS t
         WHERE t NOT IN (SELECT logicalrelid FROM pg_dist_partition)`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    if (!(await hasCitus(queryRunner))) return;
    await queryRunner.query(
      `SELECT undistribute_table(logicalrelid) FROM pg_dist_partition
         WHERE logicalrelid IN ('plants'::regclass, 'plant_store_migrations'::regclass)`,
    );
  }
}

async function hasCitus(queryRunner: QueryRunner): Promise<boolean> {
  const rows = (await queryRunner.query(
    "SELECT 1 FROM pg_extension WHERE extname = 'citus'",
  )) as unknown[];
  return rows.length > 0;
}
