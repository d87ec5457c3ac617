import { escapeIdentifier } from 'pg';
import type { QueryRunner } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';

const STATE = `SELECT quote_ident(current_user) AS role, has_database_privilege(current_database(), 'CREATE') AS "mayCreate",
    (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1) AS "mayUse"`;

interface State {
  readonly role: string;
  readonly mayCreate: boolean;
  /** Null without the schema. */
  readonly mayUse: boolean | null;
}

/**
 * Creates the schema of DATABASE_SCHEMA if it is missing. PostgreSQL passes over a schema that the role may not use, and
 * would create the tables in the next one of the search path.
 *
 * @throws StartupError with the statement for an administrator
 */
export async function requireSchema(session: QueryRunner, schema: string): Promise<void> {
  const [state] = (await session.query(STATE, [schema])) as [State];
  if (state.mayUse === true) return;
  const name = escapeIdentifier(schema);
  if (state.mayUse === false) {
    throw new StartupError(
      `DATABASE_SCHEMA: the role may not use the schema: GRANT USAGE, CREATE ON SCHEMA ${name} TO ${state.role}`,
    );
  }
  if (!state.mayCreate) {
    throw new StartupError(
      `DATABASE_SCHEMA: there is no such schema, and the role may not create it: CREATE SCHEMA ${name} AUTHORIZATION ${state.role}`,
    );
  }
  // IF NOT EXISTS would need this privilege even if it exists.
  await session.query(`CREATE SCHEMA ${name}`);
}
