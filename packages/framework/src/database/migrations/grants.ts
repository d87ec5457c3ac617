import { escapeIdentifier } from 'pg';

/** On the rows of a table (PostgreSQL manual, chapter 5.8). */
export type Privilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

export const ALL_ROWS: readonly Privilege[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

export interface GrantedTable {
  /** As an identifier of SQL, with its schema if it has one. */
  readonly path: string;
  /** `undefined`: the schema that the session creates in. */
  readonly schema: string | undefined;
  readonly privileges: readonly Privilege[];
}

export interface Grants {
  readonly role: string;
  readonly database: string;
  /** The schema that the session creates in. */
  readonly schema: string;
  readonly tables: readonly GrantedTable[];
  /** Such as `move_tools()`. */
  readonly functions: readonly string[];
  /** As identifiers of SQL. */
  readonly sequences: readonly string[];
}

/** The role then has these privileges on the tables, and no others from one grantor. */
export function grantStatements(grants: Grants): string[] {
  const { role, database, schema, tables, functions, sequences } = grants;
  const grantee = escapeIdentifier(role);
  const schemas = new Set(tables.map((table) => table.schema ?? schema).concat(schema));
  return [
    `GRANT CONNECT ON DATABASE ${escapeIdentifier(database)} TO ${grantee}`,
    ...[...schemas].map((name) => `GRANT USAGE ON SCHEMA ${escapeIdentifier(name)} TO ${grantee}`),
    ...tables.flatMap(({ path, privileges }) => [
      `REVOKE ALL ON ${path} FROM ${grantee}`,
      `GRANT ${privileges.join(', ')} ON ${path} TO ${grantee}`,
    ]),
    ...functions.map((signature) => `GRANT EXECUTE ON FUNCTION ${signature} TO ${grantee}`),
    ...sequences.map((name) => `GRANT USAGE ON SEQUENCE ${name} TO ${grantee}`),
  ];
}
