import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import type { Bulkheads } from '../../database/bulkheads.js';
import type { Statements } from '../../database/statements.js';
import type { Metrics } from '../../observability/metrics.js';
import type { EntityColumns } from '../properties/entity-columns.js';

export interface RecordedResource {
  readonly name: string;
  readonly entity: Type;
  /** The class with all properties. */
  readonly dto: Type;
  readonly dataSource: DataSource;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  readonly statements: Statements;
  readonly bulkheads: Bulkheads;
  readonly metrics: Metrics;
  readonly config: Config;
  readonly logger: Logger;
  /** Aborts when the service stops taking requests. */
  readonly shutdown: AbortSignal;
}

/** The rows that a statement has changed. All texts but `kind` are SQL. */
export interface ChangedRows {
  readonly kind: 'created' | 'replaced' | 'removed';
  /** The name of the rows in `from`: after the change, or before the removal. */
  readonly row: string;
  /** The name in `from` of the previous row, with all columns, if `row` has replaced it. */
  readonly before?: string;
  readonly from: string;
  /** Selects the changed rows of `from`, if not all of them have changed. */
  readonly condition?: string;
  /** Expressions of type text for the actor: kind and id of the principal, separated by a colon, and the id of the request. */
  readonly actor: readonly [principal: string, requestId: string];
}

/** Constant parts of the statements that change rows, so that there is never a change without its record. */
export interface RecordStatements {
  /** The columns that {@link insert} reads of a created row, separated by commas. */
  readonly copied: string;
  /** A statement that adds a record for each row. It runs once, in the snapshot of the statement that changes the rows. */
  insert(rows: ChangedRows): string;
}

/**
 * Records the changes of a resource. Each repository has its own.
 *
 * @example
 * // An audit log without a feed. Its table has the columns kind, actor and id.
 * const audit = (table: string): MakeRecorder<undefined> => ({ columns }) => ({
 *   changes: undefined,
 *   statements: {
 *     get copied() { return columns().key.name; },
 *     insert: ({ kind, row, from, condition = 'true', actor: [principal] }) =>
 *       `INSERT INTO ${table} SELECT '${kind}', ${principal}, ${row}.${columns().key.name} FROM ${from} WHERE ${condition}`,
 *   },
 *   start: () => Promise.resolve(),
 * });
 */
export interface ChangeRecorder<Changes = unknown> {
  /** The `changes` of the repository, with which a service reads the records. */
  readonly changes: Changes;
  /**
   * Read at each change; `undefined`: changes are not recorded.
   *
   * @throws ServiceException if a change cannot be recorded now: then it is rejected
   */
  readonly statements: RecordStatements | undefined;
  /**
   * Called once, when the service starts with a database, before the first change.
   *
   * @param signal aborts when the service ends: no timer may outlive it
   * @throws StartupError if changes must be recorded, and the database cannot
   */
  start(signal: AbortSignal): Promise<void>;
}

/** The option `changes` of a resource: makes its recorder, in the constructor of its repository. */
export type MakeRecorder<Changes> = (resource: RecordedResource) => ChangeRecorder<Changes>;
