import { escapeIdentifier, escapeLiteral } from 'pg';
import type { QueryRunner } from 'typeorm';
import { createHistory } from './history-1.js';

/** The tables of a history. */
export interface HistoryTables {
  /** Of what changes. */
  readonly table: string;
  /** Of the records. */
  readonly changes: string;
  /** As for `createHistory`. */
  readonly namespace: string;
}

/** Between the last position that a server has, and the first after a jump: more than it can lack of the lost ones. */
const MARGIN = 1_000_000_000;

/**
 * The second version of the functions of a history, to be called after `createHistory`
 * (docs/decisions/order-of-changes.md). Replicas that know only the first version go on with these.
 *
 * Three sequences keep what must be seen at once, whatever becomes of the transaction: PostgreSQL does not roll them back.
 */
export async function upgradeHistory(
  queryRunner: QueryRunner,
  { table, changes: name }: HistoryTables,
): Promise<void> {
  // There, changes are not recorded, and a distributed table has no triggers.
  if (await hasCitus(queryRunner)) return;
  const [{ schema } = { schema: '' }] = (await queryRunner.query(
    'SELECT quote_ident(current_schema()) AS schema',
  )) as readonly { readonly schema: string }[];
  const named = (object: string) => `${schema}.${escapeIdentifier(object)}`;
  const sequence = (kind: string) => `${escapeLiteral(named(`${name}_${kind}_seq`))}::regclass`;
  const last = (kind: string) => `pg_sequence_last_value(${sequence(kind)})`;
  const [state, changes] = [named(`${name}_state`), named(name)];
  const [begin, resume] = [named(`begin_${name}`), named(`resume_${name}`)];
  const unrecorded = named(`${name}_unrecorded`);
  // With a fixed search path, a caller cannot put other objects in the place of these (PostgreSQL manual, CREATE FUNCTION,
  // "Writing SECURITY DEFINER Functions Safely").
  const create = async (signature: string, returns: string, body: string) => {
    await queryRunner.query(
      `CREATE OR REPLACE FUNCTION ${signature} RETURNS ${returns} LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ ${body} $$`,
    );
    await queryRunner.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
  };
  const newest = `coalesce(${last('position')}, 0)`;
  const relation = `${escapeLiteral(changes)}::regclass::oid`;
  const checked = escapeLiteral(`history.${name}_checked`);
  const recorded = escapeLiteral(`history.${name}_recorded`);
  // For a moment only, so it belongs to the session: a transaction can stay open.
  const alone = (statements: string) =>
    `PERFORM pg_advisory_lock(${relation}::bigint << 32 | 1);
     BEGIN
       ${statements}
     EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
       PERFORM pg_advisory_unlock(${relation}::bigint << 32 | 1);
       RAISE;
     END;
     PERFORM pg_advisory_unlock(${relation}::bigint << 32 | 1);`;

  // `incarnation`: of the server, database and table that have given the newest positions. `jump`: the last jump. `gap`: the
  // last change without a record.
  for (const kind of ['incarnation', 'jump', 'gap']) {
    await queryRunner.query(
      `CREATE SEQUENCE ${named(`${name}_${kind}_seq`)} MINVALUE ${-(2n ** 63n)} START 0`,
    );
  }

  // A server that takes over, and a restored table, may lack records that a reader has seen. Their positions must not be
  // given to others, so the next position is the time in microseconds: greater than all that were given to fewer than a
  // million records in a second. If a clock is late, it is at least far from what this server knows.
  //
  // Whatever loses records makes another incarnation. A crash, a recovery and a snapshot of the disk start a server. A
  // promoted standby does not, but was started at another time than the former primary. A restored dump makes a table with
  // another object id, and CREATE DATABASE … TEMPLATE a database with another one. The start is known without privileges on
  // all servers and behind each pooler. A session stays with its server, so it looks once before it writes.
  const incarnation = `hashtextextended(concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    ${relation}
  ), 0)`;
  await create(
    `${resume}()`,
    'void',
    `DECLARE
       incarnation bigint := ${incarnation};
       jump bigint;
     BEGIN
       IF ${last('incarnation')} IS DISTINCT FROM incarnation THEN
         ${alone(`IF ${last('incarnation')} IS DISTINCT FROM incarnation THEN
           jump := greatest(
             extract(epoch FROM clock_timestamp()) * 1000000,
             ${MARGIN} + greatest(
               ${newest},
               (SELECT pruned_to FROM ${state}),
               (SELECT max(position) FROM ${changes})
             )
           );
           PERFORM setval(${sequence('position')}, jump);
           PERFORM setval(${sequence('jump')}, jump);
           PERFORM setval(${sequence('incarnation')}, incarnation);
         END IF;`)}
       END IF;
     END`,
  );
  // The lock tells readers, until the end of the transaction, that records with greater positions than this may come.
  // The two keys of such a lock have 32 bits each. A sequence that gives several positions to a session at once lets the
  // session use them later, below the bound.
  await create(
    `${begin}()`,
    'bigint',
    `DECLARE
       bound bigint;
     BEGIN
       IF current_setting(${checked}, true) IS DISTINCT FROM ${relation}::text THEN
         PERFORM ${resume}();
         PERFORM set_config(${checked}, ${relation}::text, false);
       END IF;
       IF (pg_sequence_parameters(${sequence('position')})).cache_size <> 1 THEN
         RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
           MESSAGE = ${escapeLiteral(`the sequence ${name}_position_seq must have CACHE 1`)};
       END IF;
       PERFORM set_config(${recorded}, statement_timestamp()::text, true);
       bound := ${newest};
       PERFORM pg_advisory_xact_lock_shared(${relation}::integer, bound::bit(32)::integer);
       RETURN bound;
     END`,
  );

  // At the end of each statement that has not taken the lock: by SQL of somebody else, a foreign key, a replica that
  // records no changes. It takes a position like a record, so readers pass it only after its commit.
  await create(
    `${unrecorded}()`,
    'trigger',
    `BEGIN
       IF current_setting(${recorded}, true) IS DISTINCT FROM statement_timestamp()::text THEN
         PERFORM ${begin}();
         ${alone(`PERFORM setval(${sequence('gap')}, nextval(${sequence('position')}));`)}
       END IF;
       RETURN NULL;
     END`,
  );

  // In this order: whoever takes the lock later than it is looked for gets greater positions than the newest of before. And
  // whoever has released it by then is committed, and seen by the next statement. Of several changes without a record, only
  // the last is known. If readers cannot pass it yet, there may be another one before, so they begin anew where they are.
  // The horizon is the position of a record, or one that is stored here: a crash can take back others. In a session that is
  // read-only, readers stop before a change without a record, because they cannot be told of it yet.
  await create(
    `${named(`${name}_horizon`)}(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean)`,
    'record',
    `DECLARE
       bounds bigint[];
       latest bigint;
       gap bigint;
       is_writable boolean := current_setting('transaction_read_only') = 'off';
     BEGIN
       IF is_writable THEN
         PERFORM ${resume}();
       END IF;
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
       gap := least(horizon, coalesce(${last('gap')}, 0));
       IF gap > (SELECT state.pruned_to FROM ${state} AS state) THEN
         IF is_writable THEN
           UPDATE ${state} AS state SET pruned_to = gap WHERE state.pruned_to < gap;
         ELSE
           horizon := gap - 1;
         END IF;
       END IF;
       SELECT state.pruned_to INTO pruned_to FROM ${state} AS state;
       jumped_to := coalesce(${last('jump')}, 0);
       horizon := least(
         horizon,
         greatest((SELECT max(position) FROM ${changes} WHERE position <= horizon), pruned_to)
       );
     END`,
  );

  // Only from the beginning, so that a reader is either told of a gap or has none. The role of the service may call this, so
  // it removes nothing that can be younger than the shortest retention.
  await create(
    `${named(`prune_${name}`)}(before timestamptz, most integer)`,
    'integer',
    `DECLARE
       last bigint;
       pruned integer;
     BEGIN
       IF (before <= now() - interval '24 hours' AND most BETWEEN 1 AND 10000) IS NOT TRUE THEN
         RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
           MESSAGE = 'records must be older than 24 hours, and at most 10000';
       END IF;
       IF NOT pg_try_advisory_xact_lock(${relation}::bigint << 32) THEN RETURN 0; END IF;
       SELECT max(position) FILTER (WHERE is_old) INTO last FROM (
         SELECT position, bool_and(time < before) OVER (ORDER BY position) AS is_old
         FROM (SELECT position, time FROM ${changes} ORDER BY position LIMIT most) AS oldest
       ) AS oldest;
       IF last IS NULL THEN RETURN 0; END IF;
       DELETE FROM ${changes} WHERE position <= last;
       GET DIAGNOSTICS pruned = ROW_COUNT;
       UPDATE ${state} SET pruned_to = greatest(pruned_to, last);
       RETURN pruned;
     END`,
  );

  // For replicas that were started before: the trigger tells readers of changes without a record.
  await create(`${named(`record_${name}`)}(is_recorded boolean)`, 'void', 'BEGIN END');

  await queryRunner.query(
    `SELECT setval(${sequence('incarnation')}, ${incarnation}) FROM ${state}
     WHERE started_at IS NULL OR (
       started_at = pg_postmaster_start_time() AND relation = ${relation} AND database = current_database()
     )`,
  );
  await queryRunner.query(
    `SELECT setval(${sequence('jump')}, jumped_to) FROM ${state} WHERE jumped_to > 0`,
  );
  await queryRunner.query(
    `SELECT setval(${sequence('gap')}, nextval(${sequence('position')})) FROM ${state} WHERE is_interrupted`,
  );
  await queryRunner.query(
    `CREATE TRIGGER ${escapeIdentifier(`${name}_unrecorded`)}
       AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${named(table)} EXECUTE FUNCTION ${unrecorded}()`,
  );
}

export async function downgradeHistory(
  queryRunner: QueryRunner,
  { table, changes, namespace }: HistoryTables,
): Promise<void> {
  const [state, unrecorded] = [`${changes}_state`, `${changes}_unrecorded`].map(escapeIdentifier);
  const [row] = (await queryRunner.query(`SELECT pruned_to FROM ${state}`)) as readonly {
    readonly pruned_to: string;
  }[];
  // The functions are replaced, and keep their privileges.
  await queryRunner.query(`DROP TABLE ${state}`);
  await createHistory(queryRunner, changes, namespace);
  await queryRunner.query(`UPDATE ${state} SET pruned_to = ${row!.pruned_to}`);
  for (const kind of ['incarnation', 'jump', 'gap']) {
    await queryRunner.query(
      `DROP SEQUENCE IF EXISTS ${escapeIdentifier(`${changes}_${kind}_seq`)}`,
    );
  }
  // Last, because it locks the table until the end of the transaction.
  await queryRunner.query(`DROP TRIGGER IF EXISTS ${unrecorded} ON ${escapeIdentifier(table)}`);
  await queryRunner.query(`DROP FUNCTION IF EXISTS ${unrecorded}()`);
}

async function hasCitus(queryRunner: QueryRunner): Promise<boolean> {
  const rows = (await queryRunner.query(
    "SELECT FROM pg_extension WHERE extname = 'citus'",
  )) as readonly unknown[];
  return rows.length > 0;
}
