import { escapeIdentifier, escapeLiteral } from 'pg';
import type { QueryRunner } from 'typeorm';

/**
 * What a history needs besides its table, to be called in the migration that creates the table
 * (docs/decisions/order-of-changes.md): a table with one row, and functions that run with the rights of its owner. So a role
 * that may only add records, and read them, can use these.
 *
 * @param namespace of the setting in which a session notes its table, such as `tool_library`
 */
export async function createHistory(
  queryRunner: QueryRunner,
  table: string,
  namespace: string,
): Promise<void> {
  const [{ schema } = { schema: '' }] = (await queryRunner.query(
    'SELECT quote_ident(current_schema()) AS schema',
  )) as readonly { readonly schema: string }[];
  const named = (name: string) => `${schema}.${escapeIdentifier(name)}`;
  const state = named(`${table}_state`);
  const changes = named(table);
  const sequence = named(`${table}_position_seq`);
  const resume = named(`resume_${table}`);
  // With a fixed search path, a caller cannot put other objects in the place of these (PostgreSQL manual, CREATE FUNCTION,
  // "Writing SECURITY DEFINER Functions Safely").
  const create = async (signature: string, returns: string, body: string) => {
    await queryRunner.query(
      `CREATE OR REPLACE FUNCTION ${signature} RETURNS ${returns} LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ ${body} $$`,
    );
    await queryRunner.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
  };
  // As the view pg_sequences reads it: an expression costs a fraction of a query.
  const newest = `coalesce(pg_sequence_last_value(${escapeLiteral(sequence)}::regclass), 0)`;
  const checked = escapeLiteral(`${namespace}.${table}`);
  const relation = `${escapeLiteral(changes)}::regclass::oid`;

  await queryRunner.query(
    `CREATE TABLE ${state} (
       "only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
       "pruned_to" bigint NOT NULL DEFAULT 0,
       "jumped_to" bigint NOT NULL DEFAULT 0,
       "started_at" timestamptz,
       "database" name,
       "relation" oid,
       "is_interrupted" boolean NOT NULL DEFAULT false
     )`,
  );
  await queryRunner.query(`INSERT INTO ${state} DEFAULT VALUES`);

  // A server that takes over, and a restored table, may have lost records that a reader has seen. Their positions must not be
  // given to others, so the next position is the time in microseconds: greater than all that were given to fewer than a
  // million records in a second. Whatever loses records starts a server: a crash, a promotion (the row has the start of the
  // former primary), a recovery, a snapshot of the disk. If not, the table has another object id (a restored dump), or
  // the database another name (CREATE DATABASE … TEMPLATE).
  //
  // The transaction that stores that may stay open, and nobody waits for it: until it is committed, others jump again. The
  // lock of the session lasts only as long as a jump.
  const isKnown = `known.started_at = pg_postmaster_start_time() AND known.relation = ${relation} AND known.database = current_database()`;
  const lock = `${relation}::bigint << 32 | 1`;
  await create(
    `${resume}()`,
    'void',
    `DECLARE
       known ${state}%ROWTYPE;
       started bigint := extract(epoch FROM pg_postmaster_start_time()) * 1000000;
       is_other boolean;
     BEGIN
       SELECT * INTO known FROM ${state};
       IF ${isKnown} THEN RETURN; END IF;
       is_other := known.relation <> ${relation} OR known.database <> current_database();
       IF is_other OR (known.started_at IS NOT NULL AND ${newest} < started) THEN
         PERFORM pg_advisory_lock(${lock});
         BEGIN
           IF is_other OR ${newest} < started THEN
             PERFORM setval(
               ${escapeLiteral(sequence)},
               greatest(${newest}, known.pruned_to, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
             );
           END IF;
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock(${lock});
           RAISE;
         END;
         PERFORM pg_advisory_unlock(${lock});
       END IF;
       UPDATE ${state} SET
         started_at = pg_postmaster_start_time(),
         database = current_database(),
         relation = ${relation},
         jumped_to = ${newest}
       FROM (SELECT FROM ${state} FOR UPDATE SKIP LOCKED) AS unlocked;
     END`,
  );

  // The lock tells readers, until the end of the transaction, that records with greater positions than this may come.
  // The two keys of such a lock have 32 bits each.
  await create(
    `${named(`begin_${table}`)}()`,
    'bigint',
    `DECLARE
       bound bigint;
     BEGIN
       -- A session stays with its server. A table that is restored is another one.
       IF current_setting(${checked}, true) IS DISTINCT FROM ${relation}::text THEN
         PERFORM ${resume}();
         PERFORM set_config(${checked}, ${relation}::text, false);
       END IF;
       bound := ${newest};
       PERFORM pg_advisory_xact_lock_shared(${relation}::integer, bound::bit(32)::integer);
       RETURN bound;
     END`,
  );

  // In this order: whoever takes the lock later than it is looked for gets greater positions than the newest of before. And
  // whoever has released it by then is committed, and seen by the next statement. The horizon is always the position of a
  // record: a crash can take back positions of which none was committed.
  await create(
    `${named(`${table}_horizon`)}(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean)`,
    'record',
    `DECLARE
       bounds bigint[];
       latest bigint;
     BEGIN
       PERFORM ${resume}();
       newest := ${newest};
       bounds := ARRAY (
         SELECT objid::bigint FROM pg_locks
         WHERE locktype = 'advisory' AND objsubid = 2 AND classid = ${relation} AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       );
       latest := ${newest};
       horizon := (SELECT min(latest - ((latest - bound) & 4294967295)) FROM unnest(bounds) AS bound);
       is_held := coalesce(horizon < newest, false);
       horizon := least(horizon, newest);
       SELECT state.pruned_to, state.jumped_to INTO pruned_to, jumped_to FROM ${state} AS state;
       horizon := least(
         horizon,
         coalesce((SELECT max(position) FROM ${changes} WHERE position <= horizon), pruned_to)
       );
     END`,
  );

  // A stable function sees the snapshot of the statement that calls it.
  await create(
    `${named(`${table}_pruned_to`)}()`,
    'bigint STABLE',
    `BEGIN RETURN (SELECT pruned_to FROM ${state}); END`,
  );

  // Only from the beginning, so that a reader is either told of a gap or has none.
  await create(
    `${named(`prune_${table}`)}(before timestamptz, most integer)`,
    'integer',
    `DECLARE
       last bigint;
       pruned integer;
     BEGIN
       IF NOT pg_try_advisory_xact_lock(${relation}::bigint << 32) THEN RETURN 0; END IF;
       SELECT max(position) FILTER (WHERE is_old) INTO last FROM (
         SELECT position, bool_and(time < before OR position <= pruned_to) OVER (ORDER BY position) AS is_old
         FROM (SELECT position, time FROM ${changes} ORDER BY position LIMIT most) AS oldest, ${state}
       ) AS oldest;
       IF last IS NULL THEN RETURN 0; END IF;
       DELETE FROM ${changes} WHERE position <= last;
       GET DIAGNOSTICS pruned = ROW_COUNT;
       UPDATE ${state} SET pruned_to = greatest(pruned_to, last);
       RETURN pruned;
     END`,
  );

  // Changes during a pause have no record, so readers of positions before the pause are told that records are gone.
  await create(
    `${named(`record_${table}`)}(is_recorded boolean)`,
    'void',
    `BEGIN
       IF NOT is_recorded THEN
         UPDATE ${state} SET is_interrupted = true WHERE NOT is_interrupted;
       ELSE
         UPDATE ${state} SET is_interrupted = false, pruned_to = ${newest} WHERE is_interrupted;
       END IF;
     END`,
  );
}

export async function dropHistory(queryRunner: QueryRunner, table: string): Promise<void> {
  for (const name of [
    `record_${table}`,
    `prune_${table}`,
    `${table}_pruned_to`,
    `${table}_horizon`,
    `begin_${table}`,
    `resume_${table}`,
  ]) {
    await queryRunner.query(`DROP FUNCTION IF EXISTS ${escapeIdentifier(name)}`);
  }
  await queryRunner.query(`DROP TABLE ${escapeIdentifier(`${table}_state`)}`);
}
