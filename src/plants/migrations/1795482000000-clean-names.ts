import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The index, if it has a list of new names. On Citus, each shard has an index of its own. */
const INDEX = `SELECT quote_ident(nspname) AS schema, quote_literal(format('%I.%I', nspname, relname)) AS name
  FROM pg_class
  JOIN pg_am ON pg_am.oid = relam JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE pg_class.oid = to_regclass('plants_name_search_idx') AND amname = 'gin'
    AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`;

/** As texts of SQL. */
interface Index {
  readonly schema: string;
  /** A literal, with the schema. */
  readonly name: string;
}

/** Lets a role clean the index of searches by name that does not own it (docs/decisions/pending-names.md). */
export class CleanNames1795482000000 implements MigrationInterface {
  readonly name = 'CleanNames1795482000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const [index] = (await queryRunner.query(INDEX)) as readonly Index[];
    if (index === undefined) return;
    const signature = `${index.schema}.clean_plants_name_search_idx()`;
    // With a fixed search path, a caller cannot put other objects in the place of these (PostgreSQL manual, CREATE
    // FUNCTION, "Writing SECURITY DEFINER Functions Safely").
    await queryRunner.query(
      `CREATE OR REPLACE FUNCTION ${signature} RETURNS bigint
         LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         AS $$ SELECT pg_catalog.gin_clean_pending_list(${index.name}::pg_catalog.regclass) $$`,
    );
    await queryRunner.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP FUNCTION IF EXISTS clean_plants_name_search_idx()`);
  }
}
