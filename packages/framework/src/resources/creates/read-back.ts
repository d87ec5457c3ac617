import type { EntityManager } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { STORED_TYPES } from '../../database/connections/stored-types.js';
import type { Statement, Statements } from '../../database/statements.js';
import type { Tracer } from '../../observability/tracer.js';
import type { RowParameters } from '../properties/entity-columns.js';
import type { EntityColumns } from '../properties/entity-columns.js';

/** Most rows of a statement. Each has parameters of its own. */
const MAX_ROWS = 32;

export interface ReadBackOptions {
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  readonly statements: Statements;
  readonly tracer: Tracer;
}

/**
 * Says how values are read that were written: PostgreSQL pads `char`, rounds `real` and `numeric`, and writes `jsonb` and times in its own
 * way. It does not read the row, which may have changed since. Most entities have no such column, and need no statement.
 */
export class ReadBack {
  private readonly batcher: Batcher<RowParameters, readonly unknown[]>;

  constructor(private readonly options: ReadBackOptions) {
    const { columns, statements, tracer } = options;
    this.batcher = new Batcher({
      lengthOf: (parameters) => columns().lengthOf(parameters),
      maxRows: MAX_ROWS,
      perform: (rows) => statements.rows(this.statement(rows)),
      tracer,
      limits: statements.limits,
    });
  }

  /** Whether any value can be read otherwise than it was written. If not, {@link read} would only return what it is given. */
  get isNeeded(): boolean {
    return !this.options.columns().isVerbatim;
  }

  /**
   * @param content what a create stores
   * @param outer the transaction of the create
   * @returns the same members, as a look-up would find them
   */
  async read<Content extends object>(content: Content, outer?: EntityManager): Promise<Content> {
    const { statements } = this.options;
    const columns = this.options.columns();
    const parameters = columns.parametersOf(content);
    const row =
      outer === undefined
        ? await this.batcher.add(parameters)
        : (await statements.in(outer).rows(this.statement([parameters])))[0]!;
    return columns.entityOf(row, columns.given) as Content;
  }

  private statement(rows: readonly RowParameters[]): Statement {
    const { given } = this.options.columns();
    const tuples = rows.map((_, at) => {
      const cells = given.map(({ exactType }, i) => `$${at * given.length + i + 1}::${exactType}`);
      return `(${cells.join(', ')}, ${at})`;
    });
    const text = `SELECT * FROM (VALUES ${tuples.join()}) AS v ORDER BY ${given.length + 1}`;
    return { text, values: rows.flat(), types: STORED_TYPES };
  }
}
