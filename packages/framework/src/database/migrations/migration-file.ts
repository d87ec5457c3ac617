import type { DataSource } from 'typeorm';
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
  const { upQueries, downQueries } = await comparison.compare();
  for (const { what, toDrop } of comparison.undeclared) {
    report(`no entity declares ${what}, so it stays: a migration drops it with ${toDrop}`);
  }
  for (const { query } of upQueries) {
    const [, table, column] = /^ALTER TABLE (.+) DROP COLUMN (.+)$/.exec(query) ?? [];
    if (column !== undefined) {
      report(`the migration drops the column ${column} of ${table}, with its values`);
    }
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

function statements(queries: readonly string[]): string {
  return queries
    .map((query) => `await queryRunner.query(\`${query.replaceAll(/[\\`$]/g, '\\$&')}\`);`)
    .join('\n');
}
