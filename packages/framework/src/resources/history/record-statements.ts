import { escapeIdentifier } from 'pg';
import { rowWait } from '../../database/row-wait.js';
import type { Statement } from '../../database/statements.js';
import type { EntityColumn } from '../entity-column.js';
import type { EntityColumns } from '../entity-columns.js';
import type { Key } from '../key-type.js';
import type { ChangeKind } from './change-of.js';
import type { Origin } from './origin.js';

/** The values of the columns `principal` and `request_id`. */
export type OriginParameters = readonly [principal: string, requestId: string];

export function originParameters({ principal, requestId }: Origin): OriginParameters {
  return [`${principal.kind}:${principal.id}`, requestId];
}

/**
 * The parts of statements that record changes. Each record is written by the statement that makes the change, so there is
 * never one without the other.
 */
export class RecordStatements {
  private readonly content: readonly EntityColumn[];
  private readonly begin: string;

  /**
   * @param columns of what changes
   * @param changes the columns of a record
   */
  constructor(
    private readonly columns: EntityColumns,
    private readonly changes: EntityColumns,
  ) {
    this.content = columns.all.filter(
      ({ databaseName, name }) =>
        name !== columns.key.name &&
        changes.all.some((column) => column.databaseName === databaseName),
    );
    this.begin = `${escapeIdentifier(`begin_${changes.tableName}`)}()`;
  }

  /** The columns that a record of a row copies. */
  get copied(): string {
    return [this.columns.key, ...this.content].map(({ name }) => name).join(', ');
  }

  /**
   * Adds a record for each row of `from`.
   *
   * @param row the name of a table in `from`
   * @param origin the expressions of the columns `principal` and `request_id`
   */
  insert(
    kind: ChangeKind,
    row: string,
    origin: readonly string[],
    from: string,
    condition = 'true',
  ): string {
    const { columns, changes } = this;
    const content = kind === 'removed' ? [columns.key] : [columns.key, ...this.content];
    const names = content.map(({ name }) => name);
    // The lock is taken before the first position is. A sub-select without a column of the rows is performed once.
    return `INSERT INTO ${changes.table} (kind, principal, request_id, ${names.join(', ')})
      SELECT '${kind}', ${origin.join(', ')}, ${names.map((name) => `${row}.${name}`).join(', ')}
      FROM ${from} WHERE ${condition} AND (SELECT ${this.begin}) IS NOT NULL`;
  }

  /** The condition of a statement for {@link replacing}: the row is locked, and what it was before is known. */
  get isLocked(): string {
    const { name } = this.columns.key;
    return `${name} IN (SELECT ${name} FROM rs__before)`;
  }

  /**
   * Wraps a statement that replaces a row, and returns it. A row whose content stays as it was is not recorded.
   *
   * @param lockWait how long it waits for the lock of the row, in milliseconds; by default as long as for other locks
   */
  replacing(
    { text, values = [], types }: Statement,
    id: Key,
    origin: Origin,
    lockWait?: number,
  ): Statement {
    const { table, key } = this.columns;
    const names = this.content.map(({ name }) => name);
    const [n, principal, requestId, wait] = [1, 2, 3, 4].map(
      (offset) => `$${values.length + offset}`,
    );
    const differs = names.map((name) => `rs__changed.${name} IS DISTINCT FROM rs__before.${name}`);
    const record = this.insert(
      'replaced',
      'rs__changed',
      [`${principal}::text`, `${requestId}::text`],
      'rs__changed, rs__before',
      `(${differs.join(' OR ') || 'false'})`,
    );
    const isSoon = lockWait === undefined ? '' : ` AND ${rowWait(`${wait}`)}`;
    return {
      // The lock waits for concurrent changes, and returns what they have left.
      text: `WITH rs__before AS MATERIALIZED (SELECT * FROM ${table} WHERE ${key.name} = ${n}${isSoon} FOR UPDATE),
        rs__changed AS (${text}),
        rs__recorded AS (${record})
        SELECT * FROM rs__changed`,
      values: [
        ...values,
        String(id),
        ...originParameters(origin),
        ...(lockWait === undefined ? [] : [String(lockWait)]),
      ],
      types,
    };
  }

  /** Wraps a statement that removes rows, and returns them. */
  removing({ text, values = [], types }: Statement, origin: Origin): Statement {
    const [principal, requestId] = [1, 2].map((offset) => `$${values.length + offset}`);
    const record = this.insert(
      'removed',
      'rs__changed',
      [`${principal}::text`, `${requestId}::text`],
      'rs__changed',
    );
    return {
      text: `WITH rs__changed AS (${text}), rs__recorded AS (${record}) SELECT * FROM rs__changed`,
      values: [...values, ...originParameters(origin)],
      types,
    };
  }
}
