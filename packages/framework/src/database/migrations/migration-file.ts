import type { DataSource } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';
import { dependentsOf, propertiesOf } from './catalogs.js';
import { SchemaComparison } from './schema-comparison.js';

/** A migration would lose objects made by hand, or could not run. The message has one line for each. */
export class LossError extends StartupError {
  override readonly exitCode = 2;
}

/**
 * Generates an unformatted migration from the schema of the database to the entities; `undefined` if they match.
 *
 * @param name in Pascal case, such as `CreateTools`
 * @param report receives sentences: what the migration drops, and what it leaves although no entity declares it
 */
export async function generateMigration(
  dataSource: DataSource,
  name: string,
  timestamp: number,
  report: (sentence: string) => void = () => {},
) {
  const comparison = await SchemaComparison.of(dataSource);
  const { upQueries, downQueries } = await comparison.log();
  // A statement for the table of TypeORM lacks its parameters, and no migration makes this table.
  const ofService = (queries: typeof upQueries): readonly string[] =>
    queries
      .map(({ query }) => query)
      .filter(
        (query) =>
          !/^(INSERT INTO|DELETE FROM) /.test(query) ||
          !query.includes(`"${dataSource.metadataTableName}"`),
      );
  const up = ofService(upQueries);
  const drops = up.filter((statement) => /\bDROP /.test(statement));
  const going = new Map<string, string>();
  const losses: string[] = [];
  for (const statement of up) {
    const [, table = '', column] = /^ALTER TABLE (.+) DROP COLUMN (.+)$/.exec(statement) ?? [];
    if (column === undefined) continue;
    report(`the migration drops the column ${column} of ${table}, with its values`);
    // What the migration drops by name does not go with the column.
    const dependents = (await dependentsOf(dataSource, table, column)).filter(
      ({ name: dependent }) => !drops.some((each) => each.endsWith(`"${dependent}"`)),
    );
    const dropped = dependents.filter(({ blocks }) => !blocks).map(({ what }) => what);
    for (const { what } of dependents.filter(({ blocks }) => blocks)) {
      losses.push(
        `${what} needs the column ${column} of ${table}: drop it in a migration by hand before this one drops the column`,
      );
    }
    const ofColumn = ` of the column ${column} of ${table}`;
    const added = up.find((each) => each.startsWith(`ALTER TABLE ${table} ADD ${column} `));
    if (added === undefined) {
      for (const what of dropped) going.set(what, column);
      continue;
    }
    const declared: Readonly<Record<string, boolean>> = {
      collation: added.includes(' COLLATE '),
      comment: up.some((each) => each.startsWith(`COMMENT ON COLUMN ${table}.${column} `)),
    };
    const properties = await propertiesOf(dataSource, table, column);
    const undeclared = comparison.undeclared.map(({ what }) => what);
    for (const what of [
      ...dropped,
      ...properties
        .filter((property) => declared[property] !== true)
        .map((property) => `the ${property}${ofColumn}`),
      ...undeclared.filter((each) => each.endsWith(ofColumn)),
    ]) {
      losses.push(
        `a new type${ofColumn} would drop ${what}, which no entity declares: write a migration by hand, with ALTER TABLE ${table} ALTER COLUMN ${column} TYPE … USING …`,
      );
    }
  }
  if (losses.length > 0) throw new LossError(losses.join('\n'));
  for (const [what, column] of going) {
    report(`no entity declares ${what}, and it goes with the column ${column}`);
  }
  for (const { what, toDrop } of comparison.undeclared) {
    if (!going.has(what)) {
      report(`no entity declares ${what}, so it stays: a migration drops it with ${toDrop}`);
    }
  }
  if (up.length === 0) return undefined;
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
${statements(up)}
  }

  async down(queryRunner: QueryRunner): Promise<void> {
${statements(ofService(downQueries).toReversed())}
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
