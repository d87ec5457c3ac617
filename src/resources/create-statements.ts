import type { Statement } from '../database/statements.js';
import type { EntityColumns } from './entity-columns.js';

/** In milliseconds, for the parts of a group of which another transaction holds a row. */
const RETRY_LOCK_TIMEOUT = 50;

/** Until the end of the transaction, which is the statement. */
const SET_LOCK_TIMEOUT = `WHERE set_config('lock_timeout', '${RETRY_LOCK_TIMEOUT}', true) IS NOT NULL`;

/** The parameters of a row, one for each given column. */
export type RowParameters = readonly unknown[];

/** The statements that create rows of an entity. Rows of one statement must have different ids. */
export class CreateStatements {
  private readonly into: string;
  private readonly unlessStored: string;
  private readonly one: string;

  constructor(private readonly columns: EntityColumns) {
    const { table, given, key } = columns;
    const others = given.filter((column) => column !== key);
    const [first = key] = others;
    const isSame = others.map(({ name, isNullable }) =>
      isNullable
        ? `${table}.${name} IS NOT DISTINCT FROM EXCLUDED.${name}`
        : `${table}.${name} = EXCLUDED.${name}`,
    );
    this.into = `INSERT INTO ${table} (${given.map(({ name }) => name).join(', ')})`;
    // If the id exists with the same content, the row is updated without a change. The update makes the COMMIT write WAL
    // and wait for the flush and for synchronous standbys, like the commit of the first create (manual, chapter 26.2.8).
    // If the content differs, no row is returned. Only an updated row has an xmax: its lock in ON CONFLICT sets it.
    this.unlessStored = `ON CONFLICT (${key.name}) DO UPDATE SET ${first.name} = ${table}.${first.name}
      WHERE ${isSame.join(' AND ') || 'true'} RETURNING ${key.name} AS id, xmax = 0 AS created`;
    const numbers = given.map((_, at) => `$${at + 1}`);
    this.one = `${this.into} VALUES (${numbers.join(', ')}) ${this.unlessStored}`;
  }

  /** A faster statement for a single row. */
  insertOne(row: RowParameters): Statement {
    return { ...this.named('insert-one'), text: this.one, values: [...row] };
  }

  /** @param isRetry whether the statement waits only shortly for a lock, because a larger group has waited before */
  insertMany(rows: readonly RowParameters[], isRetry: boolean): Statement {
    const { text, values, isPreparable } = this.rows(rows);
    return {
      ...(isPreparable && this.named(isRetry ? 'retry-insert' : 'insert')),
      text: `${this.into} SELECT ${this.names('t')} FROM ${text} ${isRetry ? SET_LOCK_TIMEOUT : ''} ${this.unlessStored}`,
      values,
    };
  }

  /** Citus sends these rows straight to their shards, but copies rows from `unnest` to files first. */
  insertValues(rows: readonly RowParameters[]): Statement {
    const { length } = this.columns.given;
    const tuples = rows.map(
      (row, at) => `(${row.map((_, i) => `$${at * length + i + 1}`).join(', ')})`,
    );
    return {
      text: `${this.into} VALUES ${tuples.join()} ${this.unlessStored}`,
      values: rows.flat(),
    };
  }

  /** Returns the numbers `n`, from 1, of the rows whose ids are stored with other content. */
  findDifferent(rows: readonly RowParameters[]): Statement {
    const { table, given, key } = this.columns;
    const { text, values } = this.rows(rows);
    const ids = rows.map((row) => row[given.indexOf(key)]);
    const differences = given
      .filter((column) => column !== key)
      .map(({ name }) => `stored.${name} IS DISTINCT FROM t.${name}`);
    return {
      // Without the condition on the id, Citus would read the whole table.
      text: `SELECT n FROM ${text}
        JOIN (SELECT * FROM ${table} WHERE ${key.name} = ANY ($${values.length + 1}::bigint[])) AS stored USING (${key.name})
        WHERE ${differences.join(' OR ') || 'false'}`,
      values: [...values, ids],
    };
  }

  /** The rows as a table `t` with their numbers. */
  private rows(rows: readonly RowParameters[]) {
    const { given, hasArrays } = this.columns;
    const alias = `AS t (${given.map(({ name }) => name).join(', ')}, n)`;
    if (!hasArrays) {
      const arrays = given.map(({ type }, at) => `$${at + 1}::${type}[]`);
      const values: unknown[] = given.map((_, at) => rows.map((row) => row[at]));
      const text = `unnest(${arrays.join(', ')}) WITH ORDINALITY ${alias}`;
      return { text, values, isPreparable: true };
    }
    const tuples = rows.map((_, at) => {
      const cells = given.map(({ type }, i) => `$${at * given.length + i + 1}::${type}`);
      return `(${cells.join(', ')}, ${at + 1})`;
    });
    return { text: `(VALUES ${tuples.join()}) ${alias}`, values: rows.flat(), isPreparable: false };
  }

  private names(alias: string): string {
    return this.columns.given.map(({ name }) => `${alias}.${name}`).join(', ');
  }

  /** A statement with a name is prepared. */
  private named(kind: string): { readonly name?: string } {
    return preparedAs(`${kind}-${this.columns.tableName}`);
  }
}

/** PostgreSQL cuts names off, and two statements must not have one name (`NAMEDATALEN`). */
export function preparedAs(name: string): { readonly name?: string } {
  return Buffer.byteLength(name) < 64 ? { name } : {};
}
