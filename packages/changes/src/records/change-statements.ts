import { escapeIdentifier } from 'pg';
import type {
  ChangedRows,
  EntityColumns,
  RecordStatements,
} from '@resource-service/framework/extension';
import { contentProperty } from './change-of.js';

/** Quoted names of columns. */
interface Content {
  readonly name: string;
  readonly nameInRecord: string;
}

/** Records each change in the statement that makes it, in the order of docs/decisions/order-of-changes.md. */
export class ChangeStatements implements RecordStatements {
  private readonly content: readonly Content[];
  private readonly begin: string;

  /**
   * @param columns of what changes
   * @param records the columns of a record
   */
  constructor(
    private readonly columns: EntityColumns,
    private readonly records: EntityColumns,
  ) {
    this.content = columns.all.flatMap((column) => {
      const property = contentProperty(column.property);
      const recorded = records.all.find((each) => each.property === property);
      if (recorded === undefined || column === columns.key) return [];
      return { name: column.name, nameInRecord: recorded.name };
    });
    this.begin = `${escapeIdentifier(`begin_${records.tableName}`)}()`;
  }

  get copied(): string {
    return [this.columns.key, ...this.content].map(({ name }) => name).join(', ');
  }

  /** A row whose content stays as it was is not recorded. */
  insert({ kind, row, before, from, condition = 'true', actor }: ChangedRows): string {
    const { columns, records } = this;
    const key = { name: columns.key.name, nameInRecord: records.column('id').name };
    const content = kind === 'removed' ? [key] : [key, ...this.content];
    const names = content.map(({ nameInRecord }) => nameInRecord);
    const values = content.map(({ name }) => `${row}.${name}`);
    const hasChanged = before === undefined ? condition : this.differs(row, before);
    // The lock is taken before the first position is. A sub-select without a column of the rows is performed once.
    return `INSERT INTO ${records.table} (kind, principal, request_id, ${names.join(', ')})
      SELECT '${kind}', ${actor.join(', ')}, ${values.join(', ')}
      FROM ${from} WHERE ${hasChanged} AND (SELECT ${this.begin}) IS NOT NULL`;
  }

  private differs(row: string, before: string): string {
    const parts = this.content.map(
      ({ name }) => `${row}.${name} IS DISTINCT FROM ${before}.${name}`,
    );
    return `(${parts.join(' OR ') || 'false'})`;
  }
}
