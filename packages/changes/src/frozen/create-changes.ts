import { escapeIdentifier, escapeLiteral } from 'pg';
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
  const sequence = (kind: string) => `${escapeLiteral(named(`${changes}_${kind}_seq`))}::regclass`;
  const state = named(`${changes}_state`);
  const unrecorded = named(`${changes}_unrecorded`);
  const create = async (signature: string, returns: string, body: string) => {
    await queryRunner.query(
      `CREATE FUNCTION ${signature} RETURNS ${returns} LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ ${body} $$`,
    );
    await queryRunner.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
  };

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
  await create(
    `${named(`${changes}_pruned_to`)}()`,
    'bigint STABLE',
    `BEGIN RETURN (SELECT pruned_to FROM ${state}); END`,
  );
  const lock = `${escapeLiteral(named(changes))}::regclass::oid::bigint << 32 | 1`;
  await create(
    `${unrecorded}()`,
    'trigger',
    `BEGIN
       IF current_setting(${escapeLiteral(`history.${changes}_recorded`)}, true) IS DISTINCT FROM statement_timestamp()::text THEN
         PERFORM ${named(`begin_${changes}`)}();
         PERFORM pg_advisory_lock(${lock});
         BEGIN
           PERFORM setval(${sequence('gap')}, nextval(${sequence('position')}));
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock(${lock});
           RAISE;
         END;
         PERFORM pg_advisory_unlock(${lock});
       END IF;
       RETURN NULL;
     END`,
  );
  await queryRunner.query(
    `CREATE TRIGGER ${escapeIdentifier(`${changes}_unrecorded`)}
       AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${named(table)} EXECUTE FUNCTION ${unrecorded}()`,
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
