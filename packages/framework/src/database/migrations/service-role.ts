import { DatabaseError, escapeIdentifier, escapeLiteral } from 'pg';
import type { Logger } from 'pino';
import type { DataSource, QueryRunner } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';
import { tableOf } from '../data-source.js';
import type { DatabaseSchema, Privilege } from '../data-source.js';
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/**
 * The role that the service connects with, beside the role that migrates. Who takes over the service, or finds an injection,
 * gets the rights of its role: an owner can drop tables, and leave a trigger or a function behind.
 */
export interface ServiceRole {
  readonly name: string;
  /** With a password, a missing role is created. */
  readonly password: string | undefined;
}

export interface ServiceAccess {
  readonly role: ServiceRole;
  readonly schema: DatabaseSchema;
}

const INSUFFICIENT_PRIVILEGE = '42501';

const ALL_ROWS: readonly Privilege[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** A superuser is a member of every role. `SET ROLE` makes a member the owner, also one without `INHERIT`. */
const ROLE =
  "SELECT pg_has_role(oid, current_user, 'MEMBER') AS own FROM pg_roles WHERE rolname = $1";

/**
 * Where the session is, which of the functions ($2) exist, since migrations leave them out on servers without use for
 * them, and the sequences of columns (of tables $3, with names $4).
 */
const PLACE = `SELECT current_database() AS database, current_schema() AS schema,
    has_schema_privilege($1, current_schema(), 'CREATE')
      OR has_database_privilege($1, current_database(), 'CREATE') AS "canCreate",
    ARRAY (SELECT name FROM unnest($2::text[]) AS name WHERE to_regprocedure(name) IS NOT NULL) AS functions,
    ARRAY (SELECT sequence FROM unnest($3::text[], $4::text[]) AS columns (path, name),
      pg_get_serial_sequence(path, name) AS sequence WHERE sequence IS NOT NULL) AS sequences`;

interface Place {
  readonly database: string;
  /** The schema that the session creates in. */
  readonly schema: string;
  readonly functions: readonly string[];
  /** As identifiers of SQL. */
  readonly sequences: readonly string[];
}

interface GrantedTable {
  /** As an identifier of SQL, with its schema if it has one. */
  readonly path: string;
  readonly schema: string | undefined;
  readonly privileges: readonly Privilege[];
}

/**
 * Gives the role of the service its privileges on the tables of the modules, and on the list of migrations. Call it
 * in a transaction after the migrations, so that no table is forgotten.
 *
 * @throws StartupError
 */
export async function grantAccess(
  dataSource: DataSource,
  session: QueryRunner,
  { role, schema }: ServiceAccess,
  log: Logger,
): Promise<void> {
  await requireRole(session, role);
  const ids = numberedIds(dataSource);
  const [place] = (await session.query(PLACE, [
    role.name,
    schema.functions ?? [],
    ids.map(([path]) => path),
    ids.map(([, name]) => name),
  ])) as [Place & { readonly canCreate: boolean }];
  for (const statement of grantStatements(role.name, place, grantedTables(dataSource, schema))) {
    await session.query(statement);
  }
  if (place.canCreate) {
    log.warn(
      'DATABASE_SERVICE_ROLE may create in the database (docs/operations.md, "Database roles")',
    );
  }
}

async function requireRole(session: QueryRunner, { name, password }: ServiceRole): Promise<void> {
  const [role] = (await session.query(ROLE, [name])) as readonly { readonly own: boolean }[];
  if (role?.own === true) {
    throw new StartupError(
      'DATABASE_SERVICE_ROLE must be a role that has no part in the role of DATABASE_URL, which owns the tables, and must not be a superuser',
    );
  }
  if (role !== undefined) return;
  if (password === undefined) {
    throw new StartupError(
      'DATABASE_SERVICE_ROLE: there is no such role: create it, or set DATABASE_SERVICE_PASSWORD',
    );
  }
  try {
    const verifier = escapeLiteral(scramVerifier(password));
    await session.query(`CREATE ROLE ${escapeIdentifier(name)} LOGIN PASSWORD ${verifier}`);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new StartupError(
      'DATABASE_SERVICE_ROLE: there is no such role, and the role of DATABASE_URL may not create roles: create it as an administrator',
      { cause: error },
    );
  }
}

/** Tables and columns with ids from the database. The service moves their sequences behind ids that are taken. */
function numberedIds(dataSource: DataSource): readonly (readonly [path: string, name: string])[] {
  return dataSource.entityMetadatas.flatMap((metadata) =>
    metadata.generatedColumns
      .filter((column) => column.generatedIdentity !== 'ALWAYS')
      .map((column) => [tableOf(dataSource, metadata), column.databaseName] as const),
  );
}

function grantedTables(
  dataSource: DataSource,
  { privileges }: DatabaseSchema,
): readonly GrantedTable[] {
  const migrations = escapeIdentifier(dataSource.options.migrationsTableName!);
  return [
    { path: migrations, schema: undefined, privileges: ['SELECT'] },
    ...dataSource.entityMetadatas.map((metadata) => ({
      path: tableOf(dataSource, metadata),
      schema: metadata.schema,
      privileges: privileges?.get(metadata.target) ?? ALL_ROWS,
    })),
  ];
}

/** The role then has these privileges on the tables, and no others from one grantor. */
export function grantStatements(
  role: string,
  { database, schema, functions, sequences }: Place,
  tables: readonly GrantedTable[],
): string[] {
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

const ITERATIONS = 4096;

/**
 * Stored by PostgreSQL in place of a password (RFC 5803; manual, chapter 53.3). A server that receives it cannot
 * write the password to its log, as it does with a statement that fails.
 *
 * @param password printable ASCII, which SASLprep (RFC 4013) leaves unchanged
 */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyOf = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  const server = keyOf('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`;
}
