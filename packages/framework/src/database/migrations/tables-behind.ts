import type { Logger } from 'pino';
import { EntityManager } from 'typeorm';
import type { DataSource } from 'typeorm';
import { describeError } from '../../observability/describe-error.js';
import { startupErrorOf } from '../connect.js';
import { extraOf } from '../data-source.js';

/**
 * The next schema of the path with a table of migrations ($1) that this role may read, and that releases up to 1.2 use.
 * The first may be given ($2).
 */
const BEHIND = `SELECT quote_ident(nspname) AS behind, quote_ident(first) AS first, quote_ident(current_user) AS role,
    $2::name IS NULL AND first = current_user AND current_setting('search_path') LIKE '%$user%' AS "isByRole"
  FROM coalesce($2, current_schema()) AS first, unnest(current_schemas(false)) WITH ORDINALITY AS path (schema, place)
  JOIN pg_namespace ON nspname = schema
  JOIN pg_class ON relnamespace = pg_namespace.oid
  WHERE relname = $1 AND schema <> first AND has_table_privilege(pg_class.oid, 'SELECT')
  ORDER BY place LIMIT 1`;

type Found = Readonly<Record<'behind' | 'first' | 'role', string>> & { readonly isByRole: boolean };

/**
 * Before the first migration makes tables in the first schema of the search path: if a schema with the name of the role
 * was created meanwhile, and the tables are in a later one, the service would start with an empty store.
 *
 * @throws StartupError
 */
export async function requireNoTablesBehind(dataSource: DataSource, log?: Logger): Promise<void> {
  const found = await findTablesBehind(dataSource).catch((error: unknown) => {
    const reason = describeError(error);
    throw startupErrorOf(dataSource, `cannot look for tables: ${reason}`, error);
  });
  if (found === undefined) return;
  const { behind, first, role, isByRole } = found;
  const tables = `the schema ${first} has no tables of this service, but ${behind} behind it has`;
  if (isByRole) {
    throw startupErrorOf(
      dataSource,
      `${tables}: to go on with these, ALTER ROLE ${role} SET search_path = ${behind}; to begin with empty tables, SET search_path = ${first}, ${behind}`,
    );
  }
  log?.warn({ schema: first, other: behind }, `${tables}: the tables are created, and empty`);
}

async function findTablesBehind(dataSource: DataSource): Promise<Found | undefined> {
  const table = dataSource.options.migrationsTableName;
  // Not `createEntityManager()`, whose transactions slow down all promises (inside-transaction.ts).
  return new EntityManager(dataSource).transaction(async (manager) => {
    if (await hasTable(manager, table)) return undefined;
    // The path of the session lacks the schemas in question.
    await manager.query('SET LOCAL search_path TO DEFAULT');
    return (await manager.query<Found[]>(BEHIND, [table, extraOf(dataSource).schema]))[0];
  });
}

export async function hasTable(
  session: Pick<EntityManager, 'query'>,
  table: string | undefined,
): Promise<boolean> {
  const statement = 'SELECT to_regclass($1) IS NOT NULL AS exists';
  const [row] = await session.query<{ readonly exists: boolean }[]>(statement, [table]);
  return row?.exists === true;
}
