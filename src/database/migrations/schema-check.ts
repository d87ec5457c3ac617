import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';
import { describeFailure } from '../../observability/describe-failure.js';
import { tableOf } from '../data-source.js';
import { appliedMigrations, nameOf } from './migrate.js';

/** A constraint that a resource has declared. */
export interface DeclaredConstraint {
  /** The name of the entity of the resource. */
  readonly entity: string;
  readonly name: string;
}

/** A column of an entity. */
interface RequiredColumn {
  readonly entity: string;
  readonly property: string;
  /** As an identifier of SQL, with its schema if the entity has one. */
  readonly table: string;
  readonly name: string;
}

/** Something that the database lacks, with its position among the parameters. */
interface Lack {
  readonly what: 'table' | 'column' | 'constraint';
  readonly at: number;
}

/**
 * What the database lacks of the columns ($1 their tables, $2 their names) and of the constraints ($3), which any table in
 * the same schemas may have. The violation of a unique index names the index. That of NOT NULL has no name.
 */
const LACKS = `WITH required AS (
    SELECT at, to_regclass(path) AS relation, name
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS columns (path, name, at)
  ), schemas AS (
    SELECT oid FROM pg_namespace WHERE nspname = ANY (current_schemas(false))
    UNION SELECT relnamespace FROM pg_class WHERE oid IN (SELECT relation FROM required)
  )
  SELECT CASE WHEN relation IS NULL THEN 'table' ELSE 'column' END AS what, at::int - 1 AS at FROM required
  WHERE NOT EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = relation AND attname = required.name::name AND NOT attisdropped
  )
  UNION ALL
  SELECT 'constraint', at::int - 1
  FROM unnest($3::text[]) WITH ORDINALITY AS constraints (name, at)
  WHERE NOT EXISTS (
    SELECT FROM pg_constraint
    WHERE conname = constraints.name AND contype <> 'n' AND connamespace IN (SELECT oid FROM schemas)
  ) AND NOT EXISTS (
    SELECT FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
    WHERE relname = constraints.name AND indisunique AND relnamespace IN (SELECT oid FROM schemas)
  )`;

const REMEDY =
  'add the migration that creates it, such as `npm run migration:generate -- NAME FEATURE` writes';

/**
 * Compares the database with the columns of the entities and with the declared constraints, in one statement. What is
 * missing is only logged if a newer release has migrated the database, so that a rollback to this one starts, and if another
 * process migrates. A comparison that fails is only logged as well: a start does not need it.
 *
 * @param isMigrating whether this process has applied the migrations
 * @throws StartupError with a line for each table, column or constraint that the database lacks
 */
export async function requireSchema(
  dataSource: DataSource,
  constraints: readonly DeclaredConstraint[],
  { log, isMigrating }: { readonly log: Logger; readonly isMigrating: boolean },
): Promise<void> {
  let missing: readonly string[];
  let newer: readonly string[];
  try {
    missing = await missingParts(dataSource, constraints);
    if (missing.length === 0) return;
    // Read afterwards: a newer release may migrate at this moment.
    newer = await newerMigrations(dataSource);
  } catch (error) {
    const reason = describeFailure(error);
    log.warn({ reason }, 'cannot compare the schema of the database with the entities');
    return;
  }
  if (isMigrating && newer.length === 0) throw new StartupError(missing.join('\n'));
  log.warn({ missing, newer }, 'the database lacks something that this release uses');
}

async function missingParts(
  dataSource: DataSource,
  constraints: readonly DeclaredConstraint[],
): Promise<readonly string[]> {
  const columns = requiredColumns(dataSource);
  const lacks = await dataSource.query<Lack[]>(LACKS, [
    columns.map(({ table }) => table),
    columns.map(({ name }) => name),
    constraints.map(({ name }) => name),
  ]);
  const lines = lacks.map(({ what, at }) =>
    what === 'constraint' ? withoutConstraint(constraints[at]!) : without(what, columns[at]!),
  );
  return [...new Set(lines)];
}

function requiredColumns(dataSource: DataSource): readonly RequiredColumn[] {
  return dataSource.entityMetadatas.flatMap((metadata) =>
    metadata.columns
      .filter(({ isVirtualProperty }) => !isVirtualProperty)
      .map(({ propertyPath, databaseName }) => ({
        entity: metadata.name,
        property: propertyPath,
        table: tableOf(dataSource, metadata),
        name: databaseName,
      })),
  );
}

function without(what: 'table' | 'column', column: RequiredColumn): string {
  const { entity, property, table, name } = column;
  return what === 'table'
    ? `${entity}: there is no table ${table}: ${REMEDY}`
    : `${entity}.${property}: the table ${table} has no column "${name}": ${REMEDY}`;
}

function withoutConstraint({ entity, name }: DeclaredConstraint): string {
  return `${entity}: no table has a constraint or unique index "${name}": correct the name in \`constraints\` of the resource, or add the migration that creates it`;
}

/** Applied migrations that this release does not have. */
async function newerMigrations(dataSource: DataSource): Promise<readonly string[]> {
  const known = new Set(dataSource.migrations.map(nameOf));
  return [...(await appliedMigrations(dataSource))].filter((name) => !known.has(name));
}
