import { escapeIdentifier } from 'pg';
import type {
  ChangedRows,
  EntityColumn,
  EntityColumns,
  RecordStatements,
} from '@resource-service/framework/extension';

/** Records each change in the statement that makes it, in the order of docs/decisions/order-of-changes.md. */
export class ChangeStatements implements RecordStatements {
  private readonly content: readonly EntityColumn[];
  private readonly begin: string;

  /**
   * @param columns of what changes
   * @param records the columns of a record
   */
  constructor(
    private readonly columns: EntityColumns,
    private readonly records: EntityColumns,
  ) {
    this.content = columns.all.filter(
      ({ databaseName, name }) =>
        name !== columns.key.name &&
        records.all.some((column) => column.databaseName === databaseName),
    );
    this.begin = `${escapeIdentifier(`begin_${records.tableName}`)}()`;
  }

  get copied(): string {
    return [this.columns.key, ...this.content].map(({ name }) => name).join(', ');
  }

  /** A row whose content stays as it was is not recorded. */
  insert({ kind, row, before, from, condition = 'true', actor }: ChangedRows): string {
    const { columns, records } = this;
    const content = kind === 'removed' ? [columns.key] : [columns.key, ...this.content];
    const names = content.map(({ name }) => name);
    const hasChanged = before === undefined ? condition : this.differs(row, before);
    // The lock is taken before the first position is. A sub-select without a column of the rows is performed once.
    return `INSERT INTO ${records.table} (kind, principal, request_id, ${names.join(', ')})
      SELECT '${kind}', ${actor.join(', ')}, ${names.map((name) => `${row}.${name}`).join(', ')}
      FROM ${from} WHERE ${hasChanged} AND (SELECT ${this.begin}) IS NOT NULL`;
  }

  private differs(row: string, before: string): string {
    const parts = this.content.map(
      ({ name }) => `${row}.${name} IS DISTINCT FROM ${before}.${name}`,
    );
    return `(${parts.join(' OR ') || 'false'})`;
  }
}
