import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { Statements } from '../../database/statements.js';
import { hasIncarnations } from './obstacles.js';

/** Warns if the functions of a history are not those of `addIncarnations`. */
export async function warnWithoutIncarnations(
  statements: Statements,
  table: string,
  changes: { readonly tableName: string },
  logger: Logger,
): Promise<void> {
  if (await hasIncarnations(statements, changes)) return;
  const reason = 'call `addIncarnations` in a migration';
  logger.warn(
    { reason },
    `readers may miss changes of ${table} after two failovers: until this is mended, let them copy everything again after each`,
  );
}

/** Warns of the histories of all entities as the start of the service does: no difference between entities and tables shows them. */
export async function warnOfHistories(dataSource: DataSource, logger: Logger): Promise<void> {
  const statements = new Statements(dataSource);
  for (const changes of dataSource.entityMetadatas) {
    const tables = await statements.rows<[string]>({
      text: `SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE tgname = $1::text AND relnamespace = current_schema()::regnamespace`,
      values: [`${changes.tableName}_unrecorded`],
    });
    for (const [table] of tables) {
      await warnWithoutIncarnations(statements, table, changes, logger);
    }
  }
}
