import { rowWait } from '../../database/lock-waits/row-wait.js';
import { prepared } from '../../database/statements.js';
import type { Statement } from '../../database/statements.js';
import type { ChangedRows, RecordStatements } from '../recording/change-recorder.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns, RowParameters } from '../properties/entity-columns.js';

/** The actor of a create. These columns follow the given columns if creates are recorded. */
const ORIGIN_COLUMNS = [
  { name: 'rs__principal', type: 'text' },
  { name: 'rs__request_id', type: 'text' },
] as const;

type SentColumn = Pick<EntityColumn, 'name' | 'type'>;

/**
 * The statements that create rows of an entity. Rows of one statement must have different ids. If creates are recorded, the
 * parameters of a row end with its actor. `lockWait` is the parameter of {@link rowWait}.
 */
export class CreateStatements {
  private readonly sent: readonly SentColumn[];
  private readonly into: string;
  private readonly unlessStored: string;
  // Made once: building and hashing a text takes longer than all else here.
  private one: ReturnType<typeof prepared> | undefined;
  private many: ReturnType<typeof prepared> | undefined;

  constructor(
    private readonly columns: EntityColumns,
    private readonly records?: RecordStatements,
  ) {
    const { table, given, key, removedAt } = columns;
    this.sent = records === undefined ? given : [...given, ...ORIGIN_COLUMNS];
    const others = given.filter((column) => column !== key);
    const [first = key] = others;
    const equals = others.map(({ name, isNullable }) =>
      isNullable
        ? `rs__row.${name} IS NOT DISTINCT FROM EXCLUDED.${name}`
        : `rs__row.${name} = EXCLUDED.${name}`,
    );
    // The id of a removed row stays taken.
    if (removedAt !== undefined) equals.push(`rs__row.${removedAt.name} IS NULL`);
    this.into = `INSERT INTO ${table} AS rs__row (${namesOf(given)})`;
    // If the id exists with equal content, an update without a change makes the COMMIT write WAL and wait for the flush and for
    // synchronous standbys, like the first create (manual, chapter 26.2.8). If the content differs, no row is returned.
    // Only an updated row has an xmax: its lock in ON CONFLICT sets it.
    this.unlessStored = `ON CONFLICT (${key.name}) DO UPDATE SET ${first.name} = rs__row.${first.name}
      WHERE ${equals.join(' AND ') || 'true'} RETURNING ${records?.copied ?? `${key.name} AS id`}, xmax = 0 AS ${records === undefined ? 'created' : 'rs__created'}`;
  }

  /** Faster for one row. */
  insertOne(row: RowParameters, lockWait: string | null): Statement {
    const { name, text } = (this.one ??= prepared(this.textOfOne()));
    return { name, text, values: row.concat(lockWait) };
  }

  insertMany(rows: readonly RowParameters[], lockWait: string | null): Statement {
    const { hasArrays } = this.columns;
    const values = [...valuesOf(this.sent, rows, hasArrays), lockWait];
    if (hasArrays) return { text: this.textOfMany(rows.length), values };
    const { name, text } = (this.many ??= prepared(this.textOfMany(0)));
    return { name, text, values };
  }

  /** For Citus, which sends these rows straight to their shards, but copies rows from `unnest` to files first. */
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

  /** For each row, without actors, whose id is stored: its number, from 1, and whether the stored content is another. */
  compare(rows: readonly RowParameters[]): Statement {
    const { table, given, key, hasArrays, removedAt } = this.columns;
    const values = valuesOf(given, rows, hasArrays);
    const ids = rows.map((row) => row[given.indexOf(key)]);
    const differences = given
      .filter((column) => column !== key)
      .map(({ name }) => `rs__stored.${name} IS DISTINCT FROM rs__t.${name}`);
    if (removedAt !== undefined) differences.push(`rs__stored.${removedAt.name} IS NOT NULL`);
    return {
      // Without the condition on the id, Citus would read the whole table.
      text: `SELECT rs__t.rs__n, ${differences.join(' OR ') || 'false'} FROM ${tableOf(given, rows.length, hasArrays)}
        JOIN (SELECT * FROM ${table} WHERE ${key.name} = ANY ($${values.length + 1}::bigint[])) AS rs__stored USING (${key.name})`,
      values: [...values, ids],
    };
  }

  /** Also records the created rows, in the transaction and round trip of `insert`. `rows` is the table of several rows. */
  private recorded(
    insert: string,
    { from, actor }: Pick<ChangedRows, 'from' | 'actor'>,
    rows?: string,
  ): string {
    if (this.records === undefined) return insert;
    const record = this.records.insert({
      kind: 'created',
      row: 'rs__stored',
      from,
      condition: 'rs__stored.rs__created',
      actor,
    });
    const source = rows === undefined ? '' : `rs__t AS (SELECT * FROM ${rows}), `;
    return `WITH ${source}rs__stored AS (${insert}), rs__recorded AS (${record})
      SELECT ${this.columns.key.name} AS id, rs__created AS created FROM rs__stored`;
  }

  private textOfOne(): string {
    const cells = this.columns.given.map(({ type }, at) => `$${at + 1}::${type}`);
    const wait = rowWait(`$${this.sent.length + 1}`);
    return this.recorded(
      `${this.into} SELECT ${cells.join(', ')} WHERE ${wait} ${this.unlessStored}`,
      {
        from: 'rs__stored',
        actor: [`$${cells.length + 1}::text`, `$${cells.length + 2}::text`],
      },
    );
  }

  /** @param count matters only if a column has arrays */
  private textOfMany(count: number): string {
    const { key, given, hasArrays } = this.columns;
    const rows = tableOf(this.sent, count, hasArrays);
    const source = this.records === undefined ? rows : 'rs__t';
    const wait = rowWait(`$${this.sent.length * (hasArrays ? count : 1) + 1}`);
    const [principal, requestId] = ORIGIN_COLUMNS;
    return this.recorded(
      `${this.into} SELECT ${namesOf(given, 'rs__t')} FROM ${source} WHERE ${wait} ${this.unlessStored}`,
      {
        from: `rs__stored JOIN rs__t USING (${key.name})`,
        actor: [`rs__t.${principal.name}`, `rs__t.${requestId.name}`],
      },
      rows,
    );
  }
}

function valuesOf(
  columns: readonly SentColumn[],
  rows: readonly RowParameters[],
  hasArrays: boolean,
): unknown[] {
  return hasArrays ? rows.flat() : columns.map((_, at) => rows.map((row) => row[at]));
}

/** The rows as a table `rs__t` with their numbers, `rs__n`. `count` matters only if a column has arrays. */
function tableOf(columns: readonly SentColumn[], count: number, hasArrays: boolean): string {
  const alias = `AS rs__t (${namesOf(columns)}, rs__n)`;
  if (!hasArrays) {
    const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`);
    return `unnest(${arrays.join(', ')}) WITH ORDINALITY ${alias}`;
  }
  const tuples = Array.from({ length: count }, (_, at) => {
    const cells = columns.map(({ type }, i) => `$${at * columns.length + i + 1}::${type}`);
    return `(${cells.join(', ')}, ${at + 1})`;
  });
  return `(VALUES ${tuples.join()}) ${alias}`;
}

function namesOf(columns: readonly SentColumn[], table?: string): string {
  return columns.map(({ name }) => (table === undefined ? name : `${table}.${name}`)).join(', ');
}
