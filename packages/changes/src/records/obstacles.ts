import { escapeIdentifier } from 'pg';
import type { Logger } from 'pino';
import { describeError, stateOf } from '@resource-service/framework/extension';
import type { Statements } from '@resource-service/framework';
import type { EntityColumns } from '@resource-service/framework/extension';

/**
 * What keeps changes of a table ($1) from being recorded in another one ($2), which has a trigger ($3).
 *
 * @param begin the name of the function
 */
const OBSTACLES = (begin: string): string => `WITH begun AS MATERIALIZED (
    SELECT EXISTS (
      SELECT FROM pg_locks
      WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid = 2
    ) AS has_lock FROM ${begin}()
  )
  SELECT reason FROM (
    SELECT 'the database does not show its advisory locks' AS reason FROM begun WHERE NOT has_lock
    UNION ALL
    SELECT format('the role may not insert into %s', $2::text) WHERE NOT has_table_privilege($2, 'INSERT')
    UNION ALL
    SELECT CASE
      WHEN count(*) = 0 THEN format('the trigger %I is missing: call \`upgradeHistory\` in a migration', $3::text)
      ELSE format('the trigger %I is disabled: run ALTER TABLE %s ENABLE TRIGGER %1$I', $3::text, $1::text)
    END
    FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname = $3::text
    HAVING bool_or(tgenabled IN ('O', 'A')) IS NOT TRUE
    UNION ALL
    SELECT format('the foreign key %I changes rows without a record: remove ON DELETE and ON UPDATE, and change the rows in a transaction', conname)
    FROM pg_constraint
    WHERE conrelid = $1::regclass AND contype = 'f'
      AND (confdeltype IN ('c', 'n', 'd') OR confupdtype IN ('c', 'n', 'd'))
  ) AS obstacles`;

/**
 * Why changes cannot be recorded.
 *
 * @param columns of what changes
 * @param changes of the records
 */
export async function findObstacles(
  statements: Statements,
  { tableName: table }: EntityColumns,
  { tableName: changes }: EntityColumns,
): Promise<readonly string[]> {
  try {
    const found = await statements.rows<[string]>({
      text: OBSTACLES(escapeIdentifier(`begin_${changes}`)),
      values: [escapeIdentifier(table), escapeIdentifier(changes), `${changes}_unrecorded`],
    });
    return found.map(([reason]) => reason);
  } catch (error) {
    // The role lacks a privilege, the database a function, or its sequence is not as it must be.
    if (/^42|^55000$/.test(stateOf(error) ?? '')) return [describeError(error)];
    throw error;
  }
}

/** Warns if a table of records has functions of a release before `addIncarnations`. */
export async function warnOfOldFunctions(
  statements: Statements,
  changes: string,
  table: string,
  logger: Logger,
): Promise<void> {
  const [[has] = [false]] = await statements.rows<[boolean]>({
    text: `SELECT EXISTS (
      SELECT FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
      WHERE nspname = current_schema() AND proname = $1::text
    )`,
    values: [`open_${changes}`],
  });
  if (has) return;
  logger.warn(
    { reason: 'call `addIncarnations` in a migration' },
    `readers may miss changes of ${table} after two failovers: until this is mended, let them copy everything again after each`,
  );
}
