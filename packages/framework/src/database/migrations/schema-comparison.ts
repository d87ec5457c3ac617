import type { DataSource, EntityMetadata, MigrationInterface, QueryRunner, Table } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { TableColumn } from 'typeorm/schema-builder/table/TableColumn.js';
import { RdbmsSchemaBuilder } from 'typeorm/schema-builder/RdbmsSchemaBuilder.js';
import { Query } from 'typeorm/driver/Query.js';
import { narrowSequencesOf, partsOf } from './catalogs.js';

/** Part of a table that no entity declares. */
export interface Undeclared {
  /** Such as `the index "tools_name_idx" of "tools"`. */
  readonly what: string;
  readonly toDrop: string;
}

interface Named {
  readonly name?: string | undefined;
}

const INTEGERS = ['smallint', 'integer', 'bigint'];

/** Of entities, and of TypeORM's copies of tables. */
const PARTS = ['indices', 'checks', 'uniques', 'exclusions', 'foreignKeys'] as const;

/** Types between which PostgreSQL casts by itself, both ways. It rejects a value that does not fit. */
const WITH_CASTS = [['text', 'character varying'], INTEGERS];

/** The names that TypeORM gives, with a hash. */
const GIVEN_BY_TYPEORM = /^(CHK|FK|IDX|REL|UQ|XCL)_[0-9a-f]{26,27}$/;

/**
 * TypeORM drops everything that no entity declares, as if it had been removed from an entity: an index with an
 * expression, a CHECK, a default. This comparison leaves it alone, unless TypeORM itself has made it. A plain column
 * is dropped: nothing tells how it was made.
 */
export class SchemaComparison extends RdbmsSchemaBuilder {
  undeclared: Undeclared[] = [];
  private readonly sources: readonly string[];

  /** @param kept the names of indexes that entities declare, but not to TypeORM */
  static async of(
    dataSource: DataSource,
    isCompared: (entity: Function) => boolean,
    kept: ReadonlySet<string>,
  ): Promise<SchemaComparison> {
    const runner = await runnerOf(dataSource);
    return new SchemaComparison(
      Object.create(dataSource, { createQueryRunner: { value: () => runner } }) as DataSource,
      isCompared,
      kept,
    );
  }

  private constructor(
    dataSource: DataSource,
    private readonly isCompared: (entity: Function) => boolean,
    private readonly kept: ReadonlySet<string>,
  ) {
    super(dataSource);
    this.sources = dataSource.migrations.map((migration: MigrationInterface) =>
      String(Reflect.get(migration, 'up')),
    );
  }

  protected override get entityToSyncMetadatas(): EntityMetadata[] {
    return super.entityToSyncMetadatas.filter(({ target }) => this.isCompared(target as Function));
  }

  protected override async executeSchemaSyncOperationsInProperOrder(): Promise<void> {
    for (const metadata of this.entityToSyncMetadatas) {
      const table = this.tableOf(metadata);
      if (table === undefined) continue;
      await this.readUuidDefaults(table);
      await this.leaveUndeclared(table, metadata);
    }
    await super.executeSchemaSyncOperationsInProperOrder();
  }

  /** TypeORM does not compare columns before. A renamed column has the name that the entity declares only now. */
  protected override async renameColumns(): Promise<void> {
    await super.renameColumns();
    for (const metadata of this.entityToSyncMetadatas) {
      const table = this.tableOf(metadata);
      for (const declared of metadata.columns) {
        const column = table?.findColumnByName(declared.databaseName);
        if (table && column) this.leaveOpen(table, column, declared);
      }
      if (table) await this.widenSequences(table);
    }
  }

  /** TypeORM takes the default of such a column for its own, and does not keep it. */
  private async readUuidDefaults(table: Table): Promise<void> {
    for (const column of table.columns.filter(isUuidByDefault)) {
      const [row] = (await this.queryRunner.query(
        `SELECT pg_get_expr(adbin, adrelid) AS value FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
         WHERE adrelid = to_regclass($1) AND attname = $2`,
        [quoted(table), column.name],
      )) as readonly { readonly value: string }[];
      column.default = row?.value;
    }
  }

  private tableOf(metadata: EntityMetadata): Table | undefined {
    // Private in TypeORM.
    return this.tables.find(
      (each) => this['getTablePath'](each) === this['getTablePath'](metadata),
    );
  }

  /** Removes undeclared parts from TypeORM's copy of the table, which lacks some of them. */
  private async leaveUndeclared(table: Table, metadata: EntityMetadata): Promise<void> {
    if (metadata.comment === undefined) delete table.comment;
    const columns = new Map(metadata.columns.map((column) => [column.databaseName, column]));
    // TypeORM does not compare the name of a constraint on one column.
    const uniques = table.uniques.filter(
      ({ columnNames: [name = '', ...others] }) =>
        others.length === 0 && isUnique(columns.get(name)),
    );
    const declared = PARTS.flatMap((part): readonly Named[] => metadata[part]).concat(uniques);
    const left = new Set<string | undefined>();
    for (const { kind, name, definition } of await partsOf(this.queryRunner, quoted(table))) {
      if (declared.some((part) => part.name === name)) continue;
      const isKept = this.kept.has(name);
      if (GIVEN_BY_TYPEORM.test(name) && !isKept) continue;
      left.add(name);
      if (isKept) continue;
      if (definition !== null && this.isGenerated(name, table)) {
        this.dropIndex(table, name, definition);
        continue;
      }
      const what = `the ${kind} "${name}" of ${quoted(table)}`;
      if (kind === 'constraint') this.leave(table, what, `DROP CONSTRAINT "${name}"`);
      // An index is in the schema of its table.
      else this.undeclared.push({ what, toDrop: `DROP INDEX ${quoted(table, name)}` });
    }
    for (const part of PARTS) {
      const kept = (table[part] as readonly Named[]).filter(({ name }) => !left.has(name));
      Object.assign(table, { [part]: kept });
    }
    table.columns = table.columns.filter((column) => {
      // An entity need not declare columns that the database computes.
      if (columns.has(column.name) || column.generatedType === undefined) return true;
      const what = `the generated column "${column.name}" of ${quoted(table)}`;
      this.leave(table, what, `DROP COLUMN "${column.name}"`);
      return false;
    });
  }

  /** TypeORM would bring back an index with its columns in another order, and without expressions. */
  private dropIndex(table: Table, name: string, definition: string): void {
    const { upQueries, downQueries } = this.queryRunner.getMemorySql();
    upQueries.push(new Query(`DROP INDEX ${quoted(table, name)}`));
    downQueries.push(
      new Query(definition.replace(/ ON .+? USING /, () => ` ON ${quoted(table)} USING `)),
    );
  }

  /** Whether a generated migration has made an index: TypeORM writes two spaces, which a person does not. */
  private isGenerated(index: string, table: Table): boolean {
    return this.sources.some((source) =>
      source.includes(`INDEX "${index}" ON ${quoted(table)}  (`),
    );
  }

  /** TypeORM would drop the column and add another, and lose all values and objects made by hand. */
  private changeType(table: Table, column: TableColumn, declared: ColumnMetadata): void {
    const { driver } = this.dataSource;
    const type = driver.normalizeType(declared);
    const { length } = declared;
    if (column.type === type && column.length === length) return;
    if (column.isArray !== declared.isArray || column.generatedType !== undefined) return;
    if (!WITH_CASTS.some((types) => types.includes(type) && types.includes(column.type))) return;
    const { collation } = column;
    const statement = () =>
      new Query(
        `ALTER TABLE ${quoted(table)} ALTER COLUMN "${column.name}" TYPE ${driver.createFullType(column)}` +
          (collation === undefined ? '' : ` COLLATE "${collation}"`),
      );
    const { upQueries, downQueries } = this.queryRunner.getMemorySql();
    downQueries.push(statement());
    Object.assign(column, { type, length });
    upQueries.push(statement());
  }

  /** Otherwise, ids would end where those of the former type of their column did. */
  private async widenSequences(table: Table): Promise<void> {
    const { upQueries, downQueries } = this.queryRunner.getMemorySql();
    for (const { column, name, type } of await narrowSequencesOf(this.queryRunner, quoted(table))) {
      const wanted = table.columns.find((each) => each.name === column)?.type ?? type;
      if (INTEGERS.indexOf(wanted) <= INTEGERS.indexOf(type)) continue;
      upQueries.push(new Query(`ALTER SEQUENCE ${name} AS ${wanted}`));
      downQueries.push(new Query(`ALTER SEQUENCE ${name} AS ${type}`));
    }
  }

  /** What the entity leaves open stays as it is in the table. */
  private leaveOpen(table: Table, column: TableColumn, declared: ColumnMetadata): void {
    const leave = (what: string, change: string): void =>
      this.leave(
        table,
        `the ${what} of the column "${column.name}" of ${quoted(table)}`,
        `ALTER COLUMN "${column.name}" DROP ${change}`,
      );
    this.changeType(table, column, declared);
    if (declared.comment === undefined) delete column.comment;
    if (declared.collation === undefined) delete column.collation;
    if (declared.generatedType === undefined) {
      delete column.generatedType;
      delete column.asExpression;
    } else if (declared.asExpression !== undefined && column.generatedType !== undefined) {
      // TypeORM compares the text in a table of its own, which a service does not have.
      column.asExpression = declared.asExpression;
    }
    if (typeof declared.default === 'number' && column.default === String(declared.default)) {
      // TypeORM would compare it with quotes.
      column.default = `'${column.default}'`;
    }
    if (isUuidByDefault(column) && !declared.isGenerated && declared.default != null) {
      column.isGenerated = false;
      delete column.generationStrategy;
    } else if (column.isGenerated && !declared.isGenerated) {
      const isIdentity = column.generationStrategy === 'identity';
      leave(isIdentity ? 'identity' : 'default', isIdentity ? 'IDENTITY' : 'DEFAULT');
      column.isGenerated = false;
      delete column.generationStrategy;
      delete column.generatedIdentity;
      column.default = undefined;
    } else if (column.default != null && declared.default === undefined && !declared.isGenerated) {
      leave('default', 'DEFAULT');
      column.default = undefined;
    }
    if (isUuidByDefault(column)) delete column.default;
    column.isUnique &&= table.uniques.some(
      ({ columnNames: [name, ...others] }) => others.length === 0 && name === column.name,
    );
  }

  private leave(table: Table, what: string, change: string): void {
    this.undeclared.push({ what, toDrop: `ALTER TABLE ${quoted(table)} ${change}` });
  }
}

/** TypeORM looks for the expressions of generated columns in a table that it makes only if an entity declares some. */
async function runnerOf(dataSource: DataSource): Promise<QueryRunner> {
  const runner = dataSource.createQueryRunner();
  const table = dataSource.metadataTableName;
  const query = runner.query.bind(runner) as (...parts: unknown[]) => Promise<never>;
  const [row]: readonly { readonly exists: boolean }[] = await query(
    'SELECT to_regclass(quote_ident($1)) IS NOT NULL AS exists',
    [table],
  );
  if (row?.exists !== true) {
    const isRead = (text: unknown) =>
      String(text).startsWith('SELECT') && String(text).includes(`"${table}"`);
    const queryOthers = (...parts: unknown[]) =>
      isRead(parts[0]) ? Promise.resolve([] as never) : query(...parts);
    runner.query = queryOthers;
  }
  return runner;
}

function isUnique(column: ColumnMetadata | undefined): boolean {
  return (
    column?.entityMetadata.uniques.some(
      ({ columns }) => columns.length === 1 && columns[0] === column,
    ) ?? false
  );
}

function isUuidByDefault({ isGenerated, generationStrategy }: TableColumn): boolean {
  return isGenerated && generationStrategy === 'uuid';
}

/** The table as an identifier of SQL, with its schema if TypeORM names it; or another name in its schema. */
function quoted({ name }: Table, other?: string): string {
  const names = name.split('.');
  if (other !== undefined) names.splice(-1, 1, other);
  return names.map((each) => `"${each}"`).join('.');
}
