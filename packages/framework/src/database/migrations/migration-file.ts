import type { DataSource } from 'typeorm';

/**
 * Generates the migration from the database's schema to the entities', not formatted. `undefined` if they already match.
 *
 * @param name in Pascal case, such as `CreateTools`
 */
export async function generateMigration(dataSource: DataSource, name: string, timestamp: number) {
  const { upQueries, downQueries } = await dataSource.driver.createSchemaBuilder().log();
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
