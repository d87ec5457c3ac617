import type { DataSource } from 'typeorm';

export interface MigrationFile {
  /** Such as `1763683200000-create-plants.ts`. */
  readonly fileName: string;
  /** Such as `CreatePlants1763683200000`. */
  readonly className: string;
  readonly source: string;
}

/**
 * Generates the migration from the database's schema to the entities'. `undefined` if they already match.
 *
 * @param name in Pascal case, such as `CreatePlants`
 */
export async function generateMigration(
  dataSource: DataSource,
  name: string,
  timestamp: number,
): Promise<MigrationFile | undefined> {
  const { upQueries, downQueries } = await dataSource.driver.createSchemaBuilder().log();
  if (upQueries.length === 0) return undefined;
  const className = `${name}${timestamp}`;
  const kebab = name.replaceAll(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
  return {
    fileName: `${timestamp}-${kebab}.ts`,
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

/** Adds a migration to the file of its feature. */
export function withMigration(
  feature: string,
  { fileName, className }: Pick<MigrationFile, 'fileName' | 'className'>,
): string {
  const path = `./migrations/${fileName.replace(/ts$/, 'js')}`;
  const list = /migrations: \[([^\]]*)\]/;
  const [, listed = ''] = list.exec(feature) ?? [];
  const names = [...listed.split(',').map((name) => name.trim()), className].filter(Boolean);
  const line = `migrations: [${names.join(', ')}]`;
  // Formatted like Prettier, with the indentation and the comma.
  const lines = `migrations: [\n    ${names.join(',\n    ')},\n  ]`;
  return feature
    .replace(/\n\n/, `\nimport { ${className} } from '${path}';\n\n`)
    .replace(list, line.length <= 97 ? line : lines);
}

function statements(queries: readonly string[]): string {
  return queries
    .map((query) => {
      const literal = `\`${query.replaceAll(/[\\`$]/g, '\\$&')}\``;
      const line = `    await queryRunner.query(${literal});`;
      // Formatted like Prettier (.prettierrc.json), so that the file passes `npm run check`.
      return line.length <= 100 ? line : `    await queryRunner.query(\n      ${literal},\n    );`;
    })
    .join('\n');
}
