import type { EntityManager } from 'typeorm';
import type { Statement } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { describeError } from '../../observability/describe-error.js';
import { RepeatedErrors } from '../../observability/repeated-errors.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import type { Shared } from '../locks/shared.js';

/** Each attempt advances the sequence by one at least. */
const MAX_ATTEMPTS = 100;

/** In milliseconds. */
const MAX_TIME = 5_000;

const MAX_STEP = 1_000_000;

/**
 * Advances the sequence of a table behind the ids that follow its last number without a gap. Not behind the greatest id, which may be
 * the last possible one. Unlike `setval` beside other creates, `nextval` never repeats a number.
 */
function advancing({ table, key }: EntityColumns): string {
  return `WITH rs__sequence AS (SELECT pg_get_serial_sequence($1, $2)::regclass AS name),
      rs__last AS (SELECT name, pg_sequence_last_value(name) AS last FROM rs__sequence),
      rs__run AS (SELECT name, last, (SELECT rs__taken.${key.name} FROM ${table} AS rs__taken
        WHERE rs__taken.${key.name} >= rs__last.last
          AND NOT EXISTS (SELECT FROM ${table} AS rs__next WHERE rs__next.${key.name} = rs__taken.${key.name} + 1)
        ORDER BY rs__taken.${key.name} LIMIT 1) AS until FROM rs__last)
    SELECT count(nextval(name)) FROM rs__run, generate_series(1, least(coalesce(until - last, 0), ${MAX_STEP}))`;
}

/**
 * Retries creates whose generated id is taken, because somebody has inserted rows with ids that the sequence does not know. Clients
 * get no error, because they did not cause it.
 */
export class TakenIds {
  private advance: Promise<unknown> | undefined;
  private readonly repeated = new RepeatedErrors();

  constructor(private readonly options: Pick<Shared, 'columns' | 'statements' | 'logger'>) {}

  /**
   * @param insert returns nothing if the generated id is taken
   * @throws ServiceException `transaction-conflict` if too many ids are taken
   */
  async skip<Row>(insert: () => Promise<Row | undefined>, outer?: EntityManager): Promise<Row> {
    const begin = performance.now();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const row = await insert();
      if (row !== undefined) return row;
      if (performance.now() - begin > MAX_TIME) break;
      await (outer === undefined ? this.advanceTogether() : this.advanceIn(outer));
    }
    throw new ServiceException(ERRORS.transactionConflict);
  }

  /** All creates with a taken id wait for one statement. */
  private advanceTogether(): Promise<unknown> {
    const { statements } = this.options;
    this.advance ??= this.advanceSequence((statement) => statements.rows(statement)).finally(() => {
      this.advance = undefined;
    });
    return this.advance;
  }

  /** In the outer connection: to wait for another could deadlock. The savepoint protects the transaction from an error. */
  private advanceIn(outer: EntityManager): Promise<void> {
    const { statements } = this.options;
    return this.advanceSequence((statement) =>
      outer.transaction((manager) => statements.in(manager).rows(statement)),
    );
  }

  private async advanceSequence(run: (statement: Statement) => Promise<unknown>): Promise<void> {
    const columns = this.options.columns();
    const { table, key } = columns;
    if (key.type !== 'bigint') return;
    try {
      await run({ text: advancing(columns), values: [table, key.databaseName] });
      this.report(table);
    } catch (error) {
      // For example, the role may lack the privilege. Each further insert advances the sequence by one.
      this.report(table, error);
    }
  }

  private report(table: string, error?: unknown): void {
    const repeated = this.repeated.note(error, table);
    if (repeated === undefined) return;
    const reason = error === undefined ? undefined : describeError(error);
    const context = { table, reason, ...(repeated > 0 && { repeated }) };
    const hint = `rows of ${table} were inserted with ids that its sequence does not know: docs/framework/creating.md`;
    this.options.logger.warn(context, hint);
  }
}
