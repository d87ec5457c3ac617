import type { EntityManager } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import type { Statement } from '../../database/statements.js';
import type { Shared } from '../locks/shared.js';
import type { RowParameters } from '../properties/entity-columns.js';

/** The rows of a statement, each with parameters of its own. */
const MAX_ROWS = 32;

/**
 * Converts created values as a look-up would read them: PostgreSQL pads `char`, rounds `real` and `numeric`, and rewrites `jsonb` and
 * times. It does not read the row, which may have changed since. Most entities have no such column, and need no statement.
 */
export class ReadBack {
  private readonly batcher: Batcher<RowParameters, readonly unknown[]>;

  constructor(private readonly options: Pick<Shared, 'columns' | 'statements' | 'tracer'>) {
    const { columns, statements, tracer } = options;
    this.batcher = new Batcher({
      lengthOf: (parameters) => columns().lengthOf(parameters),
      maxRows: MAX_ROWS,
      perform: (rows) => statements.rows(this.statement(rows)),
      tracer,
      limits: statements.limits,
    });
  }

  get isNeeded(): boolean {
    return !this.options.columns().isVerbatim;
  }

  async read<Content extends object>(content: Content, outer?: EntityManager): Promise<Content> {
    if (outer !== undefined) return (await this.readMany([content], outer))[0]!;
    const columns = this.options.columns();
    const row = await this.batcher.add(columns.parametersOf(content));
    return columns.entityOf(row, columns.given) as Content;
  }

  async readMany<Content extends object>(
    contents: readonly Content[],
    outer?: EntityManager,
  ): Promise<readonly Content[]> {
    const { statements } = this.options;
    const columns = this.options.columns();
    const session = outer === undefined ? statements : statements.in(outer);
    const rows: (readonly unknown[])[] = [];
    for (let at = 0; at < contents.length; at += MAX_ROWS) {
      const part = contents.slice(at, at + MAX_ROWS);
      const statement = this.statement(part.map((content) => columns.parametersOf(content)));
      rows.push(...(await session.rows<readonly unknown[]>(statement)));
    }
    return rows.map((row) => columns.entityOf(row, columns.given) as Content);
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
