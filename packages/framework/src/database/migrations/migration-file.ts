import type { DataSource } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';
import { SchemaComparison } from './schema-comparison.js';

/**
 * Generates the migration from the database's schema to the entities', not formatted. `undefined` if they already match.
 *
 * @param name in Pascal case, such as `CreateTools`
 * @param report is told in sentences what the migration drops, and what it leaves although no entity declares it
 */
export async function generateMigration(
  dataSource: DataSource,
  name: string,
  timestamp: number,
  report: (sentence: string) => void = () => {},
) {
  const comparison = await SchemaComparison.of(dataSource);
  const inMemory = await comparison.compare();
  // The parameters of such a statement are not part of it, and no migration makes this table of TypeORM's.
  const isOfTypeorm = ({ query }: { query: string }) =>
    /^(INSERT INTO|DELETE FROM) /.test(query) &&
    query.includes(`"${dataSource.metadataTableName}"`);
  const upQueries = inMemory.upQueries.filter((each) => !isOfTypeorm(each));
  const downQueries = inMemory.downQueries.filter((each) => !isOfTypeorm(each));
  const lost = new Map<unknown, string>();
  for (const { query } of upQueries) {
    const [, table = '', column] = /^ALTER TABLE (.+) DROP COLUMN (.+)$/.exec(query) ?? [];
    if (column === undefined) continue;
    report(`the migration drops the column ${column} of ${table}, with its values`);
    const names = await dependents(dataSource, table, column);
    for (const part of comparison.undeclared) {
      if (part.table !== table || !names.includes(part.name)) continue;
      if (upQueries.some((each) => each.query.startsWith(`ALTER TABLE ${table} ADD ${column} `))) {
        throw new StartupError(
          `a new type of the column ${column} of ${table} would drop ${part.what}, which no entity declares: write a migration by hand, with ALTER TABLE ${table} ALTER COLUMN ${column} TYPE … USING …`,
        );
      }
      lost.set(part, column);
    }
  }
  for (const part of comparison.undeclared) {
    const column = lost.get(part);
    report(
      column === undefined
        ? `no entity declares ${part.what}, so it stays: a migration drops it with ${part.toDrop}`
        : `no entity declares ${part.what}, and it goes with the column ${column}`,
    );
  }
  if (upQueries.length === 0) return undefined;
  const className = `${name}${timestamp}`;
  const kebab = name.replaceAll(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
  return {
    /** Such as `1763683200000-create-tools.ts`. */
    fileName: `${timestamp}-${kebab}.ts`,
    /** Such as `CreateTools1763683200000`. */
    className,
    source: `import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ${className} implements MigrationInterface {
  readonly name = '${className}';

  async up(queryRunner: QueryRunner): Promise<void> {
${statements(upQueries.map(({ query }) => query))}
  }

  async down(queryRunner: QueryRunner): Promise<void> {
${statements(downQueries.toReversed().map(({ query }) => query))}
  }
}
`,
  };
}

/** The names of the indexes and constraints that PostgreSQL drops with a column, and its own. */
async function dependents(
  dataSource: DataSource,
  table: string,
  column: string,
): Promise<readonly string[]> {
  const name = column.slice(1, -1);
  const rows: readonly { readonly name: string }[] = await dataSource.query(
    `SELECT coalesce(relname, conname) AS name
     FROM pg_attribute
     JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = attrelid AND refobjsubid = attnum
     LEFT JOIN pg_class i ON classid = 'pg_class'::regclass AND i.oid = objid
     LEFT JOIN pg_constraint c ON classid = 'pg_constraint'::regclass AND c.oid = objid
     WHERE attrelid = to_regclass($1) AND attname = $2`,
    [table, name],
  );
  return [name, ...rows.map((row) => row.name)];
}

function statements(queries: readonly string[]): string {
  return queries
    .map((query) => `await queryRunner.query(\`${query.replaceAll(/[\\`$]/g, '\\$&')}\`);`)
    .join('\n');
}
