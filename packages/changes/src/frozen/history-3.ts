import { escapeIdentifier, escapeLiteral } from 'pg';
import type { QueryRunner } from 'typeorm';
import { upgradeHistory } from './history-2.js';
import type { HistoryTables } from './history-2.js';
import { defineUnrecorded } from './unrecorded-changes.js';

/**
 * The third version of the functions of a history, to be called after `upgradeHistory`
 * (docs/decisions/order-of-changes.md). Replicas that know only earlier versions go on with these.
 *
 * A position has two parts: the incarnation of the server that has given it, a random number of 37 bits, and 16 bits that
 * count. Incarnations grow on a server, so its positions do.
 */
export async function addIncarnations(
  queryRunner: QueryRunner,
  { changes: name }: HistoryTables,
): Promise<void> {
  // There, changes are not recorded.
  if (await hasCitus(queryRunner)) return;
  const { begin, created } = await defineFunctions(queryRunner, name);
  await giveToOwnerOf(begin, created, queryRunner);
}

/**
 * Defines the functions, and what only they use.
 *
 * @param name of the table of the records
 */
export async function defineFunctions(
  queryRunner: QueryRunner,
  name: string,
): Promise<{ readonly begin: string; readonly created: readonly string[] }> {
  const [{ schema } = { schema: '' }] = (await queryRunner.query(
    'SELECT quote_ident(current_schema()) AS schema',
  )) as readonly { readonly schema: string }[];
  const named = (object: string) => `${schema}.${escapeIdentifier(object)}`;
  const sequence = (kind: string) => `${escapeLiteral(named(`${name}_${kind}_seq`))}::regclass`;
  const last = (kind: string) => `pg_sequence_last_value(${sequence(kind)})`;
  const [state, changes] = [named(`${name}_state`), named(name)];
  const [begin, resume, open] = [`begin_${name}`, `resume_${name}`, `open_${name}`].map(named);
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
  const lock = `${relation}::bigint << 32`;

  // A crash empties it (PostgreSQL manual, CREATE TABLE, "UNLOGGED"), also one after which the server does not start anew
  // (`restart_after_crash`), and may lose commits that a reader has seen (`synchronous_commit`). The size of its file belongs to
  // no transaction: all see at once that somebody has inserted. (An unlogged sequence would be simpler, but if a standby
  // is promoted before it has written the sequence to disk, each use of it fails: "bad magic number".)
  const uncrashed = named(`uncrashed_${name}_state`);
  await queryRunner.query(`CREATE UNLOGGED TABLE ${uncrashed} (is_uncrashed boolean NOT NULL)`);

  // As in the second version, `incarnation` has what tells this server, database and table from all others, and a session
  // looks once before its first change. Greater than all numbers that a server from which this one comes can have given with
  // an incarnation that both know: those end where the next incarnation can begin. Each takes, on average, 1/2048 of the
  // numbers that are left, so there are fewer to choose from after each.
  const incarnation = `hashtextextended(concat_ws(' ',
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    ${relation}
  ), 0)`;
  const hasCrashed = `pg_relation_size(${escapeLiteral(uncrashed)}::regclass) = 0`;
  const isNew = `(${last('incarnation')} IS DISTINCT FROM incarnation OR ${hasCrashed})`;
  await create(
    `${resume}()`,
    'void',
    `DECLARE
       incarnation bigint := ${incarnation};
       known bigint;
       random bigint;
       begun bigint;
     BEGIN
       IF ${isNew} THEN
         PERFORM pg_advisory_lock(${lock} | 1);
         BEGIN
           IF ${isNew} THEN
             known := greatest(
               ${newest},
               (SELECT pruned_to FROM ${state}),
               (SELECT max(position) FROM ${changes})
             ) >> 16;
             random := ('x' || left(translate(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint;
             begun := (known + 1 + random % greatest(((1::bigint << 37) - known) >> 10, 1)) << 16;
             PERFORM setval(${sequence('position')}, begun);
             PERFORM setval(${sequence('jump')}, begun);
             PERFORM setval(${sequence('incarnation')}, incarnation);
             IF ${hasCrashed} THEN
               INSERT INTO ${uncrashed} VALUES (true);
             END IF;
           END IF;
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock(${lock} | 1);
           RAISE;
         END;
         PERFORM pg_advisory_unlock(${lock} | 1);
       END IF;
     END`,
  );

  // Two locks have the whole bound, because a prepared transaction can outlive its incarnation, and keeps its locks: first
  // the upper bits, then the lower ones, so whoever has the second has both. Positions end 2^32 before the last integer that
  // JavaScript reads, because the statement takes its own after this.
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
       IF bound > (1::bigint << 53) - (1::bigint << 32) THEN
         RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
           MESSAGE = ${escapeLiteral(`the sequence ${name}_position_seq has come to its end`)};
       END IF;
       PERFORM pg_advisory_xact_lock_shared(${lock} | ((bound >> 32) + 2));
       PERFORM pg_advisory_xact_lock_shared(${relation}::integer, bound::bit(32)::integer);
       RETURN bound;
     END`,
  );

  // The least bound of the transactions that are open or prepared. A transaction that has begun with the second version has
  // no upper bits: then it is too low, which only holds readers back.
  await create(
    `${open}()`,
    'bigint',
    `BEGIN
       RETURN (
         SELECT min(coalesce(upper, 0) << 32 | lower) FROM (
           SELECT min(objid::bigint) FILTER (WHERE objsubid = 2) AS lower,
             min(objid::bigint - 2) FILTER (WHERE objsubid = 1 AND objid::bigint >= 2) AS upper
           FROM pg_locks
           WHERE locktype = 'advisory' AND classid = ${relation} AND granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           GROUP BY virtualtransaction, pid
         ) AS bounds
         WHERE lower IS NOT NULL
       );
     END`,
  );

  // As in the second version. The sub-select keeps the columns of the service apart from the variables.
  await create(
    `${named(`${name}_horizon`)}(OUT horizon bigint, OUT newest bigint, OUT pruned_to bigint, OUT jumped_to bigint, OUT is_held boolean)`,
    'record',
    `DECLARE
       bound bigint;
       gap bigint;
       is_writable boolean := current_setting('transaction_read_only') = 'off';
     BEGIN
       IF is_writable THEN
         PERFORM ${resume}();
       END IF;
       newest := ${newest};
       bound := ${open}();
       is_held := coalesce(bound < newest, false);
       horizon := least(bound, newest);
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
       horizon := greatest(
         (SELECT max(position) FROM (SELECT position FROM ${changes}) AS records WHERE position <= horizon),
         pruned_to
       );
     END`,
  );

  // As in the second version, but never beyond a transaction that is open or prepared: readers begin after what is removed.
  // The records have the columns of the service, which can have the names of the variables.
  await create(
    `${named(`prune_${name}`)}(before timestamptz, most integer)`,
    'integer',
    `#variable_conflict use_variable
     DECLARE
       bound bigint := ${newest};
       last bigint;
       pruned integer;
     BEGIN
       IF (before <= now() - interval '24 hours' AND most BETWEEN 1 AND 10000) IS NOT TRUE THEN
         RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
           MESSAGE = 'records must be older than 24 hours, and at most 10000';
       END IF;
       IF NOT pg_try_advisory_xact_lock(${lock}) THEN RETURN 0; END IF;
       bound := least(bound, ${open}());
       SELECT max(position) FILTER (WHERE is_old) INTO last FROM (
         SELECT position, bool_and(time < before AND position <= bound) OVER (ORDER BY position) AS is_old
         FROM (SELECT position, time FROM ${changes} ORDER BY position LIMIT most) AS oldest
       ) AS oldest;
       IF last IS NULL THEN RETURN 0; END IF;
       DELETE FROM ${changes} WHERE position <= last;
       GET DIAGNOSTICS pruned = ROW_COUNT;
       UPDATE ${state} SET pruned_to = greatest(pruned_to, last);
       RETURN pruned;
     END`,
  );
  await defineUnrecorded(create, schema, name);
  return { begin: begin!, created: [`TABLE ${uncrashed}`, `FUNCTION ${open}()`] };
}

/** Goes back to `upgradeHistory`, and keeps the positions. */
export async function removeIncarnations(
  queryRunner: QueryRunner,
  tables: HistoryTables,
): Promise<void> {
  if (await hasCitus(queryRunner)) return;
  const { changes } = tables;
  const sequences = ['incarnation', 'jump', 'gap'].map((kind) =>
    escapeIdentifier(`${changes}_${kind}_seq`),
  );
  // In settings of the transaction, so that the statements are always the same.
  const setting = (n: number) => `'history.kept_${n}'`;
  for (const [n, name] of sequences.entries()) {
    await queryRunner.query(
      `SELECT set_config(${setting(n)}, pg_sequence_last_value(${escapeLiteral(name)}::regclass)::text, true)`,
    );
  }
  // The functions are replaced, and keep their privileges. What the second version creates must not be there.
  for (const name of sequences) await queryRunner.query(`DROP SEQUENCE ${name}`);
  await queryRunner.query(`DROP TABLE ${escapeIdentifier(`uncrashed_${changes}_state`)}`);
  await upgradeHistory(withoutTriggers(queryRunner), tables);
  for (const [n, name] of sequences.entries()) {
    await queryRunner.query(
      `SELECT setval(${escapeLiteral(name)}, nullif(current_setting(${setting(n)}), '')::bigint)`,
    );
  }
  await giveToOwnerOf(
    escapeIdentifier(`begin_${changes}`),
    sequences.map((name) => `SEQUENCE ${name}`),
    queryRunner,
  );
  await queryRunner.query(`DROP FUNCTION ${escapeIdentifier(`open_${changes}`)}()`);
}

/**
 * The functions that are replaced keep their owner, with whose rights they use these objects. Another role, such as a
 * superuser, may run this migration.
 */
async function giveToOwnerOf(
  begin: string,
  objects: readonly string[],
  queryRunner: QueryRunner,
): Promise<void> {
  const owner = `(SELECT proowner::regrole FROM pg_proc WHERE oid = ${escapeLiteral(`${begin}()`)}::regprocedure)`;
  for (const object of objects) {
    await queryRunner.query(
      `DO $$ BEGIN EXECUTE format('ALTER %s OWNER TO %s', ${escapeLiteral(object)}, ${owner}); END $$`,
    );
  }
}

/** The trigger of the second version is there. To make it anew would lock the table while functions and sequences are replaced. */
function withoutTriggers(queryRunner: QueryRunner): QueryRunner {
  const query = (sql: string): Promise<unknown> =>
    sql.startsWith('CREATE TRIGGER') ? Promise.resolve() : queryRunner.query(sql);
  return new Proxy(queryRunner, {
    get: (target, name): unknown => (name === 'query' ? query : Reflect.get(target, name)),
  });
}

export async function hasCitus(queryRunner: QueryRunner): Promise<boolean> {
  const rows = (await queryRunner.query(
    "SELECT FROM pg_extension WHERE extname = 'citus'",
  )) as readonly unknown[];
  return rows.length > 0;
}
