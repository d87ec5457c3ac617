import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { connect } from '../../packages/framework/src/database/connect.js';
import { applyMigrations } from '../../packages/framework/src/database/migrations/migrate.js';
import type { ServiceAccess } from '../../packages/framework/src/database/migrations/service-role.js';
import { createDataSource } from './data-source.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';

const silent = pino({ level: 'silent' });
const { signal } = new AbortController();

export const PASSWORD = 'a password, with "quotes" and \\ \'more\'';

/** With characters that SQL would take for something else. */
export function newRole(): string {
  return `service "${randomBytes(6).toString('hex')}"; --`;
}

export function quoted(role: string): string {
  return `"${role.replaceAll('"', '""')}"`;
}

/** The URL of a database for a role with the {@link PASSWORD}. */
export function urlAs(role: string, { url }: TestDatabase): string {
  return Object.assign(new URL(url), {
    username: encodeURIComponent(role),
    password: encodeURIComponent(PASSWORD),
  }).href;
}

/** Applies the migrations, and gives the role what it needs. */
export async function migrate(
  database: TestDatabase,
  access: ServiceAccess,
  log = silent,
): Promise<void> {
  const dataSource = createDataSource(database.url, { poolMax: 2 });
  try {
    await connect(dataSource, { log, signal });
    await applyMigrations(dataSource, { log, signal }, access);
  } finally {
    await dataSource.destroy();
  }
}

/** What a role may do with each table. */
export async function privilegesOf(
  role: string,
  database: TestDatabase,
): Promise<Readonly<Record<string, string>>> {
  const rows = await database.query(
    `SELECT relname AS table, array_agg(privilege_type ORDER BY privilege_type) AS privileges
     FROM pg_class, aclexplode(relacl) WHERE grantee = (SELECT oid FROM pg_roles WHERE rolname = $1)
     GROUP BY relname`,
    [role],
  );
  return Object.fromEntries(rows.map(({ table, privileges }) => [table, String(privileges)]));
}

/** Everything that a role may do in a database. */
export async function grantsOf(
  role: string,
  database: TestDatabase,
): Promise<Readonly<Record<string, string>>> {
  const rows = await database.query(
    `SELECT name, string_agg(privilege_type, ', ' ORDER BY privilege_type) AS privileges
     FROM (SELECT relname AS name, relacl AS acl FROM pg_class
           UNION ALL SELECT proname, proacl FROM pg_proc
           UNION ALL SELECT 'the schema of the tables', nspacl FROM pg_namespace
           UNION ALL SELECT 'the database', datacl FROM pg_database WHERE datname = current_database()) AS objects,
       aclexplode(acl)
     WHERE grantee = (SELECT oid FROM pg_roles WHERE rolname = $1)
     GROUP BY name`,
    [role],
  );
  return Object.fromEntries(rows.map(({ name, privileges }) => [name, String(privileges)]));
}

/** Removes a role that has privileges in this database only. */
export async function dropRole(role: string, database: TestDatabase): Promise<void> {
  await database.query(`DROP OWNED BY ${quoted(role)}; DROP ROLE ${quoted(role)}`);
}
