import { escapeIdentifier } from 'pg';
import { Statements } from '@resource-service/framework';
import type { TableNeeds } from '@resource-service/framework/extension';
import { warnOfOldFunctions } from './obstacles.js';

/** The role of the service can only add records, and read them: a function removes the old ones. */
export function recordNeeds(table: string): TableNeeds {
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
      for (const [changing] of tables) {
        await warnOfOldFunctions(statements, table, changing, logger);
      }
    },
  };
}
