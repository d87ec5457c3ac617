import type { DataSource } from 'typeorm';
import { StartupError } from '../../errors/startup.error.js';
import { tableNeedsOf } from '../table-needs.js';
import type { TableCreation } from '../table-needs.js';
import { dependentsOf, propertiesOf } from './catalogs.js';
import { SchemaComparison } from './schema-comparison.js';
import type { Undeclared } from './schema-comparison.js';

/** A migration would lose objects made by hand, or could not run. The message has one line for each. */
export class LossError extends StartupError {
  override readonly exitCode = 2;
}

/** Other databases have the tables in another schema. TypeORM names the schema of this one only here. */
const WITH_SCHEMA = /^DROP INDEX "[^"]+"\.(?=")/;

interface Declarations {
  /** Whether an entity belongs to the module of the migration. */
  readonly isOwn: (entity: Function) => boolean;
  /** Of all modules. */
  readonly indexes: readonly DeclaredIndex[];
}

/**
 * Generates an unformatted migration from the schema of the database to the entities of a module; `undefined` if they match.
 *
 * @param name in Pascal case, such as `CreateTools`
 * @param report receives sentences: what the migration drops, what it leaves although no entity declares it, and what other modules lack
 */
export async function generateMigration(
  dataSource: DataSource,
  name: string,
  timestamp: number,
  report: (sentence: string) => void = () => {},
  { isOwn, indexes }: Declarations = { isOwn: () => true, indexes: [] },
) {
  const found = new Map<DeclaredIndex, readonly string[]>();
  for (const index of indexes) found.set(index, await index.find());
  const kept = new Set([...found.values()].flat());
  const compare = async (isCompared: (entity: Function) => boolean) => {
    const comparison = await SchemaComparison.of(dataSource, isCompared, kept);
    const { upQueries, downQueries } = await comparison.log();
    const statementsOf = [upQueries, downQueries].map((queries) =>
      queries
        .map(({ query }) => query.replace(WITH_SCHEMA, 'DROP INDEX '))
        .filter((query) => isOfService(dataSource, query)),
    );
    const [up, down] = statementsOf as [string[], string[]];
    for (const index of indexes.filter(({ entity }) => isCompared(entity))) {
      const served = await servedBy(index, found.get(index) ?? [], up);
      const isServed = ({ toDrop }: Undeclared) =>
        served.some((each) => toDrop.endsWith(`"${each}"`));
      comparison.undeclared = comparison.undeclared.filter((each) => !isServed(each));
      // TypeORM makes an index of `@Index(['due', 'id'])`, with two spaces.
      const keys = ` ON ${index.table}  (${index.keys}`;
      const isMade = up.some((each) => each.includes(keys) && !each.includes(') WHERE '));
      if (served.length > 0 || isMade) continue;
      // In the form of TypeORM, the next draft knows that this one has created the index.
      up.push(`CREATE INDEX ${index.name}${keys})`);
      down.push(`DROP INDEX ${index.name}`);
    }
    return { up, down, undeclared: comparison.undeclared };
  };
  const { up, down, undeclared } = await compare(isOwn);
  const others = await compare((entity) => !isOwn(entity));
  for (const statement of others.up) {
    report(
      `another module differs from its tables, and needs a migration of its own: ${statement}`,
    );
  }
  for (const { name: index, table } of indexes) {
    const isBuilt = up.some((each) => each.startsWith(`CREATE INDEX ${index} ON `));
    if (!isBuilt || up.some((each) => each.startsWith(`CREATE TABLE ${table} `))) continue;
    report(
      `the migration locks ${table} against writes while it builds the index ${index}: for many rows, call createIndexOnline in a migration with transaction = false`,
    );
  }
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
    const dropped = dependents
      .filter(({ blocks, name: dependent }) => !blocks && !kept.has(dependent))
      .map(({ what }) => what);
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
    for (const what of [
      ...dropped,
      ...properties
        .filter((property) => declared[property] !== true)
        .map((property) => `the ${property}${ofColumn}`),
      ...undeclared.map((each) => each.what).filter((each) => each.endsWith(ofColumn)),
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
  for (const { what, toDrop } of undeclared) {
    if (!going.has(what)) {
      report(`no entity declares ${what}, so it stays: a migration drops it with ${toDrop}`);
    }
  }
  if (up.length === 0) return undefined;
  const className = `${name}${timestamp}`;
  const creations = creationsIn(dataSource, up);
  const kebab = name.replaceAll(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
  return {
    /** Such as `1763683200000-create-tools.ts`. */
    fileName: `${timestamp}-${kebab}.ts`,
    /** Such as `CreateTools1763683200000`. */
    className,
    statements: up,
    source: `${importsOf(creations)}import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ${className} implements MigrationInterface {
  readonly name = '${className}';

  async up(queryRunner: QueryRunner): Promise<void> {
${[statements(up), ...creations.map((creation) => `${creation.up};`)].join('\n')}
  }

  async down(queryRunner: QueryRunner): Promise<void> {
${[...creations.map((creation) => `${creation.down};`), statements(down.toReversed())].join('\n')}
  }
}
`,
  };
}

/** What the tables that a migration creates need besides their columns. */
function creationsIn(
  { entityMetadatas }: DataSource,
  up: readonly string[],
): readonly TableCreation[] {
  return entityMetadatas.flatMap(({ tableName, target }) => {
    const isCreated = up.some((each) => each.startsWith(`CREATE TABLE "${tableName}" `));
    const { creation } = isCreated ? tableNeedsOf(target as Function) : {};
    return creation ?? [];
  });
}

function importsOf(creations: readonly TableCreation[]): string {
  const lines = creations.map(
    ({ names, from }) => `import { ${names.join(', ')} } from '${from}';\n`,
  );
  return [...new Set(lines)].join('');
}

/** A statement for the table of TypeORM lacks its parameters, and no migration makes this table. */
function isOfService({ metadataTableName }: DataSource, query: string): boolean {
  return !/^(INSERT INTO|DELETE FROM) /.test(query) || !query.includes(`"${metadataTableName}"`);
}

/** The indexes that have the keys after the statements, which may rename or drop the column. */
async function servedBy(
  { table, columns, keys, find }: DeclaredIndex,
  found: readonly string[],
  up: readonly string[],
): Promise<readonly string[]> {
  const drop = `ALTER TABLE ${table} DROP COLUMN `;
  // PostgreSQL drops an index along with each of its columns.
  if (up.some((each) => each.startsWith(drop) && keys.includes(each.slice(drop.length)))) return [];
  if (found.length > 0) return found;
  const former = columns.map((column) => {
    const renamed = up.find(
      (each) => each.startsWith(`ALTER TABLE ${table} RENAME `) && each.endsWith(` TO "${column}"`),
    );
    return /RENAME COLUMN "(.+)" TO /.exec(renamed ?? '')?.[1] ?? column;
  });
  const names = await find(former);
  const drops = up.filter((each) => each.startsWith('DROP INDEX '));
  return names.filter((name) => !drops.some((each) => each.endsWith(`"${name}"`)));
}

function statements(queries: readonly string[]): string {
  return queries
    .map((query) => `await queryRunner.query(\`${query.replaceAll(/[\\`$]/g, '\\$&')}\`);`)
    .join('\n');
}

/** An index that an entity declares, but not to TypeORM, which knows no expressions. */
export interface DeclaredIndex {
  readonly entity: Function;
  /** The parameter `sort` of lists that need it. */
  readonly order: string;
  /** As an identifier of SQL, like `name`. */
  readonly table: string;
  readonly name: string;
  /** Of the database, without quotes. */
  readonly columns: readonly string[];
  /** In SQL, such as `left("name", 100) COLLATE "C", "id"`. */
  readonly keys: string;
  /**
   * The names of the indexes of the database that have these keys.
   *
   * @param columns the names that the columns have in the database, by default the declared ones
   */
  readonly find: (columns?: readonly string[]) => Promise<readonly string[]>;
}
