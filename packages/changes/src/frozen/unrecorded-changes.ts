import { escapeIdentifier, escapeLiteral } from 'pg';

/**
 * Defines the function of the trigger that notes changes without a record (`history-2.ts`). The log of PostgreSQL has the
 * statement, which readers must not see: at most one in a minute of each session, since a replica that records no changes
 * sends thousands.
 *
 * @param create as in `history-3.ts`
 * @param schema as an identifier of SQL
 * @param changes the table of the records
 */
export async function defineUnrecorded(
  create: (signature: string, returns: string, body: string) => Promise<void>,
  schema: string,
  changes: string,
): Promise<void> {
  const named = (name: string) => `${schema}.${escapeIdentifier(name)}`;
  const sequence = (kind: string) => `${escapeLiteral(named(`${changes}_${kind}_seq`))}::regclass`;
  const setting = (name: string) => escapeLiteral(`history.${changes}_${name}`);
  const lock = `${escapeLiteral(named(changes))}::regclass::oid::bigint << 32 | 1`;
  const minute = "date_trunc('minute', statement_timestamp())::text";
  await create(
    `${named(`${changes}_unrecorded`)}()`,
    'trigger',
    `DECLARE
       gap bigint;
     BEGIN
       IF current_setting(${setting('recorded')}, true) IS DISTINCT FROM statement_timestamp()::text THEN
         PERFORM ${named(`begin_${changes}`)}();
         PERFORM pg_advisory_lock(${lock});
         BEGIN
           gap := nextval(${sequence('position')});
           PERFORM setval(${sequence('gap')}, gap);
         EXCEPTION WHEN QUERY_CANCELED OR OTHERS THEN
           PERFORM pg_advisory_unlock(${lock});
           RAISE;
         END;
         PERFORM pg_advisory_unlock(${lock});
         IF current_setting(${setting('logged')}, true) IS DISTINCT FROM ${minute} THEN
           PERFORM set_config(${setting('logged')}, ${minute}, false);
           RAISE LOG 'a change of % up to position % was made without a record: % by % (%)',
             TG_TABLE_NAME, gap, TG_OP, session_user, current_setting('application_name');
         END IF;
       END IF;
       RETURN NULL;
     END`,
  );
}
