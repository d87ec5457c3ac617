import { rowWait } from '../database/row-wait.js';
import { prepared } from '../database/statements.js';
import type { Statement } from '../database/statements.js';
import type { EntityColumn, EntityColumns } from './entity-columns.js';
import type { RecordStatements } from './history/record-statements.js';

/** The parameters of a row, one for each given column. */
export type RowParameters = readonly unknown[];

/** The columns of the origin of a row. They follow the given columns if creates are recorded. */
const ORIGIN_COLUMNS = [
  { name: 'by_principal', type: 'text' },
  { name: 'by_request_id', type: 'text' },
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
        ? `${table}.${name} IS NOT DISTINCT FROM EXCLUDED.${name}`
        : `${table}.${name} = EXCLUDED.${name}`,
    );
    this.into = `INSERT INTO ${table} (${namesOf(given)})`;
    // If the id exists with the same content, the row is updated without a change. The update makes the COMMIT write WAL
    // and wait for the flush and for synchronous standbys, like the commit of the first create (manual, chapter 26.2.8).
    // If the content differs, no row is returned. Only an updated row has an xmax: its lock in ON CONFLICT sets it.
    this.unlessStored = `ON CONFLICT (${key.name}) DO UPDATE SET ${first.name} = ${table}.${first.name}
      WHERE ${isSame.join(' AND ') || 'true'} RETURNING ${records?.copied ?? `${key.name} AS id`}, xmax = 0 AS created`;
    const [one, origin] = [given, ORIGIN_COLUMNS].map((part) =>
      part.map((column) => `$${this.sent.indexOf(column) + 1}`),
    );
    const insertOne = (source: string) =>
      this.recorded(`${this.into} ${source} ${this.unlessStored}`, {
        origin: origin!.map((number) => `${number}::text`),
        from: 'stored',
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
    const source = this.records === undefined ? text : 't';
    const isSoon = milliseconds !== undefined;
    const condition = isSoon ? `WHERE ${rowWait(`$${values.length + 1}`)}` : '';
    const insert = `${this.into} SELECT ${namesOf(given, 't')} FROM ${source} ${condition} ${this.unlessStored}`;
    const recorded = this.recorded(insert, {
      rows: text,
      origin: namesOf(ORIGIN_COLUMNS, 't').split(', '),
      from: `stored JOIN t USING (${key.name})`,
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
   * Returns the numbers `n`, from 1, of the rows whose ids are stored with other content.
   *
   * @param rows without their origins
   */
  findDifferent(rows: readonly RowParameters[]): Statement {
    const { table, given, key, hasArrays } = this.columns;
    const { text, values } = rowsOf(given, rows, hasArrays);
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
    const record = this.records.insert('created', 'stored', origin, from, 'created');
    const source = rows === undefined ? '' : `t AS (SELECT * FROM ${rows}), `;
    return `WITH ${source}stored AS (${insert}), recorded AS (${record})
      SELECT ${this.columns.key.name} AS id, created FROM stored`;
  }

  /** The texts are few: they do not depend on the rows. */
  private prepared(text: string): ReturnType<typeof prepared> {
    const known = this.names.get(text) ?? prepared(text);
    this.names.set(text, known);
    return known;
  }
}

/** The rows as a table `t` with their numbers. */
function rowsOf(
  columns: readonly SentColumn[],
  rows: readonly RowParameters[],
  hasArrays: boolean,
) {
  const alias = `AS t (${namesOf(columns)}, n)`;
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
