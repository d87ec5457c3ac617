import { escapeIdentifier } from 'pg';
import { Statements } from '@resource-service/framework';
import type { TableCreation, TableNeeds } from '@resource-service/framework/extension';
import { warnOfOldFunctions } from './obstacles.js';

/**
 * The role of the service can only add records, and read them: a function removes the old ones.
 *
 * @param table of the records
 * @param changing the table whose changes are recorded; `undefined` for one with a schema of its own, whose migration is written by hand
 */
export function recordNeeds(table: string, changing: string | undefined): TableNeeds {
  const name = (of: string) => escapeIdentifier(of.replace('*', table));
  return {
    privileges: ['SELECT', 'INSERT'],
    functions: [
      `${name('begin_*')}()`,
      `${name('*_horizon')}()`,
      `${name('*_pruned_to')}()`,
      `${name('prune_*')}(timestamptz, integer)`,
      `${name('record_*')}(boolean)`,
    ],
    // As the start of the service does.
    check: async (dataSource, logger) => {
      const statements = new Statements(dataSource);
      const tables = await statements.rows<[string]>({
        text: `SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
          WHERE tgname = $1::text AND relnamespace = current_schema()::regnamespace`,
        values: [`${table}_unrecorded`],
      });
      for (const [each] of tables) await warnOfOldFunctions(statements, table, each, logger);
    },
    ...(changing !== undefined && { creation: creationOf(table, changing) }),
  };
}

function creationOf(changes: string, table: string): TableCreation {
  const tables = `{ table: ${JSON.stringify(table)}, changes: ${JSON.stringify(changes)} }`;
  return {
    names: ['createChanges', 'dropChanges'],
    from: '@resource-service/changes/migrations',
    up: `await createChanges(queryRunner, ${tables})`,
    down: `await dropChanges(queryRunner, ${tables})`,
  };
}
