import { rowWait } from '../database/row-wait.js';
import { prepared } from '../database/statements.js';
import type { Statement } from '../database/statements.js';
import type { EntityColumn } from './entity-column.js';
import type { EntityColumns } from './entity-columns.js';
import type { RecordStatements } from './history/record-statements.js';

/** The parameters of a row, one for each given column. */
export type RowParameters = readonly unknown[];

/** The columns of the origin of a row. They follow the given columns if creates are recorded. */
const ORIGIN_COLUMNS = [
  { name: 'rs__principal', type: 'text' },
  { name: 'rs__request_id', type: 'text' },
] as const;

type SentColumn = Pick<EntityColumn, 'name' | 'type'>;

/**
 * The statements that create rows of an entity. Rows of one statement must have different ids. If creates are recorded, a
 * row has the parameters of its origin as well.
 */
export class CreateStatements {
  private readonly sent: readonly SentColumn[];
  private readonly into: string;
  private readonly unlessStored: string;
  private readonly one: string;
  private readonly oneSoon: string;
  private readonly names = new Map<string, ReturnType<typeof prepared>>();

  /** @param records `undefined`: creates are not recorded */
  constructor(
    private readonly columns: EntityColumns,
    private readonly records?: RecordStatements,
  ) {
    const { table, given, key } = columns;
    this.sent = records === undefined ? given : [...given, ...ORIGIN_COLUMNS];
    const others = given.filter((column) => column !== key);
    const [first = key] = others;
    const isSame = others.map(({ name, isNullable }) =>
      isNullable
        ? `rs__row.${name} IS NOT DISTINCT FROM EXCLUDED.${name}`
        : `rs__row.${name} = EXCLUDED.${name}`,
    );
    this.into = `INSERT INTO ${table} AS rs__row (${namesOf(given)})`;
    // If the id exists with the same content, the row is updated without a change. The update makes the COMMIT write WAL
    // and wait for the flush and for synchronous standbys, like the commit of the first create (manual, chapter 26.2.8).
    // If the content differs, no row is returned. Only an updated row has an xmax: its lock in ON CONFLICT sets it.
    this.unlessStored = `ON CONFLICT (${key.name}) DO UPDATE SET ${first.name} = rs__row.${first.name}
      WHERE ${isSame.join(' AND ') || 'true'} RETURNING ${records?.copied ?? `${key.name} AS id`}, xmax = 0 AS ${records === undefined ? 'created' : 'rs__created'}`;
    const [one, origin] = [given, ORIGIN_COLUMNS].map((part) =>
      part.map((column) => `$${this.sent.indexOf(column) + 1}`),
    );
    const insertOne = (source: string) =>
      this.recorded(`${this.into} ${source} ${this.unlessStored}`, {
        origin: origin!.map((number) => `${number}::text`),
        from: 'rs__stored',
      });
    this.one = insertOne(`VALUES (${one!.join(', ')})`);
    const typed = one!.map((number, at) => `${number}::${given[at]!.type}`);
    this.oneSoon = insertOne(
      `SELECT ${typed.join(', ')} WHERE ${rowWait(`$${this.sent.length + 1}`)}`,
    );
  }

  /**
   * A faster statement for a single row.
   *
   * @param milliseconds how long it waits for the lock of a row; by default as long as for other locks
   */
  insertOne(row: RowParameters, milliseconds?: number): Statement {
    return milliseconds === undefined
      ? { ...this.prepared(this.one), values: [...row] }
      : { ...this.prepared(this.oneSoon), values: [...row, String(milliseconds)] };
  }

  /** @param milliseconds how long it waits for the lock of a row; by default as long as for other locks */
  insertMany(rows: readonly RowParameters[], milliseconds?: number): Statement {
    const { text, values, isPreparable } = rowsOf(this.sent, rows, this.columns.hasArrays);
    const { key, given } = this.columns;
    const source = this.records === undefined ? text : 'rs__t';
    const isSoon = milliseconds !== undefined;
    const condition = isSoon ? `WHERE ${rowWait(`$${values.length + 1}`)}` : '';
    const insert = `${this.into} SELECT ${namesOf(given, 'rs__t')} FROM ${source} ${condition} ${this.unlessStored}`;
    const recorded = this.recorded(insert, {
      rows: text,
      origin: namesOf(ORIGIN_COLUMNS, 'rs__t').split(', '),
      from: `rs__stored JOIN rs__t USING (${key.name})`,
    });
    return {
      ...(isPreparable ? this.prepared(recorded) : { text: recorded }),
      values: isSoon ? [...values, String(milliseconds)] : values,
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

  /**
   * Returns the numbers, from 1, of the rows whose ids are stored with other content.
   *
   * @param rows without their origins
   */
  findDifferent(rows: readonly RowParameters[]): Statement {
    const { table, given, key, hasArrays } = this.columns;
    const { text, values } = rowsOf(given, rows, hasArrays);
    const ids = rows.map((row) => row[given.indexOf(key)]);
    const differences = given
      .filter((column) => column !== key)
      .map(({ name }) => `rs__stored.${name} IS DISTINCT FROM rs__t.${name}`);
    return {
      // Without the condition on the id, Citus would read the whole table.
      text: `SELECT rs__t.rs__n FROM ${text}
        JOIN (SELECT * FROM ${table} WHERE ${key.name} = ANY ($${values.length + 1}::bigint[])) AS rs__stored USING (${key.name})
        WHERE ${differences.join(' OR ') || 'false'}`,
      values: [...values, ids],
    };
  }

  /**
   * The statement that also records what `insert` has created, in the same transaction and round trip.
   *
   * @param origin the expressions of the columns of the origin
   */
  private recorded(
    insert: string,
    {
      rows,
      origin,
      from,
    }: { readonly rows?: string; readonly origin: readonly string[]; readonly from: string },
  ): string {
    if (this.records === undefined) return insert;
    const record = this.records.insert(
      'created',
      'rs__stored',
      origin,
      from,
      'rs__stored.rs__created',
    );
    const source = rows === undefined ? '' : `rs__t AS (SELECT * FROM ${rows}), `;
    return `WITH ${source}rs__stored AS (${insert}), rs__recorded AS (${record})
      SELECT ${this.columns.key.name} AS id, rs__created AS created FROM rs__stored`;
  }

  /** The texts are few: they do not depend on the rows. */
  private prepared(text: string): ReturnType<typeof prepared> {
    const known = this.names.get(text) ?? prepared(text);
    this.names.set(text, known);
    return known;
  }
}

/** The rows as a table `rs__t` with their numbers, `rs__n`. */
function rowsOf(
  columns: readonly SentColumn[],
  rows: readonly RowParameters[],
  hasArrays: boolean,
) {
  const alias = `AS rs__t (${namesOf(columns)}, rs__n)`;
  if (!hasArrays) {
    const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`);
    const values: unknown[] = columns.map((_, at) => rows.map((row) => row[at]));
    const text = `unnest(${arrays.join(', ')}) WITH ORDINALITY ${alias}`;
    return { text, values, isPreparable: true };
  }
  const tuples = rows.map((_, at) => {
    const cells = columns.map(({ type }, i) => `$${at * columns.length + i + 1}::${type}`);
    return `(${cells.join(', ')}, ${at + 1})`;
  });
  return { text: `(VALUES ${tuples.join()}) ${alias}`, values: rows.flat(), isPreparable: false };
}

function namesOf(columns: readonly SentColumn[], table?: string): string {
  return columns.map(({ name }) => (table === undefined ? name : `${table}.${name}`)).join(', ');
}
