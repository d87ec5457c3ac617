import { escapeIdentifier } from 'pg';
import type { QueryRunner } from 'typeorm';
import { defineFunctions, hasCitus } from './history-3.js';

/** The tables of a resource whose changes are recorded. */
export interface ChangeTables {
  /** Of what changes. */
  readonly table: string;
  /** Of the records. */
  readonly changes: string;
}

/** What `history-2.ts` and `history-3.ts` say of it. */
const SEQUENCES = ['incarnation', 'jump', 'gap'] as const;

/**
 * What the records of changes need besides their table, to be called in the migration that creates the table: the functions
 * that `createHistory`, `upgradeHistory` and `addIncarnations` leave, at once (docs/decisions/order-of-changes.md).
 *
 * @example
 * await createChanges(queryRunner, { table: 'tools', changes: 'tool_changes' });
 */
export async function createChanges(
  queryRunner: QueryRunner,
  { table, changes }: ChangeTables,
): Promise<void> {
  // There, changes are not recorded.
  if (await hasCitus(queryRunner)) return;
  const [{ schema } = { schema: '' }] = (await queryRunner.query(
    'SELECT quote_ident(current_schema()) AS schema',
  )) as readonly { readonly schema: string }[];
  const named = (name: string) => `${schema}.${escapeIdentifier(name)}`;
  const state = named(`${changes}_state`);
  const prunedTo = `${named(`${changes}_pruned_to`)}()`;

  await queryRunner.query(
    `CREATE TABLE ${state} (
       "only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
       "pruned_to" bigint NOT NULL DEFAULT 0
     )`,
  );
  await queryRunner.query(`INSERT INTO ${state} DEFAULT VALUES`);
  for (const kind of SEQUENCES) {
    await queryRunner.query(
      `CREATE SEQUENCE ${named(`${changes}_${kind}_seq`)} MINVALUE ${-(2n ** 63n)} START 0`,
    );
  }
  await defineFunctions(queryRunner, changes);
  // A stable function sees the snapshot of the statement that calls it.
  await queryRunner.query(
    `CREATE FUNCTION ${prunedTo} RETURNS bigint STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN (SELECT pruned_to FROM ${state}); END $$`,
  );
  await queryRunner.query(`REVOKE ALL ON FUNCTION ${prunedTo} FROM PUBLIC`);
  await queryRunner.query(
    `CREATE TRIGGER ${escapeIdentifier(`${changes}_unrecorded`)}
       AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${named(table)} EXECUTE FUNCTION ${named(`${changes}_unrecorded`)}()`,
  );
}

/** Takes {@link createChanges} back, before the migration drops the table of the records. */
export async function dropChanges(
  queryRunner: QueryRunner,
  { table, changes }: ChangeTables,
): Promise<void> {
  const name = (of: string) => escapeIdentifier(of.replace('*', changes));
  const functions = ['begin_*', 'resume_*', 'open_*', '*_horizon', '*_pruned_to', 'prune_*'];
  for (const each of functions) {
    await queryRunner.query(`DROP FUNCTION IF EXISTS ${name(each)}`);
  }
  for (const kind of SEQUENCES) {
    await queryRunner.query(`DROP SEQUENCE IF EXISTS ${name(`*_${kind}_seq`)}`);
  }
  for (const each of ['*_state', 'uncrashed_*_state']) {
    await queryRunner.query(`DROP TABLE IF EXISTS ${name(each)}`);
  }
  // Last, because it locks the table until the end of the transaction.
  await queryRunner.query(
    `DROP TRIGGER IF EXISTS ${name('*_unrecorded')} ON ${escapeIdentifier(table)}`,
  );
  await queryRunner.query(`DROP FUNCTION IF EXISTS ${name('*_unrecorded')}`);
}
