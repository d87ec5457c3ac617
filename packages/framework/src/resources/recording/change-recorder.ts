import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import type { Bulkheads } from '../../database/bulkheads.js';
import type { Statements } from '../../database/statements.js';
import type { Metrics } from '../../observability/metrics.js';
import type { EntityColumns } from '../properties/entity-columns.js';

/** What the recorder of a resource can use. */
export interface RecordedResource {
  /** The name of the resource in metrics. */
  readonly name: string;
  readonly entity: Type;
  /** The class with all members. */
  readonly dto: Type;
  readonly dataSource: DataSource;
  /** The table of the entity. Known when the database is connected. */
  readonly columns: () => EntityColumns;
  readonly statements: Statements;
  readonly bulkheads: Bulkheads;
  readonly metrics: Metrics;
  readonly config: Config;
  readonly logger: Logger;
  /** Aborts when the service stops to take requests. */
  readonly shutdown: AbortSignal;
}

/** The rows that a statement has changed. All texts are SQL. */
export interface ChangedRows {
  readonly kind: 'created' | 'replaced' | 'removed';
  /** The name of the rows in `from`: as they are after the change, or as they were before they were removed. */
  readonly row: string;
  /** The name in `from` of what has become `row`, if it was replaced. It has all columns. */
  readonly before?: string;
  readonly from: string;
  /** Which rows of `from` have changed, if not all of them. */
  readonly condition?: string;
  /** Expressions of who has changed them, both text: kind and id of the principal with a colon in between, and the id of the request. */
  readonly actor: readonly [principal: string, requestId: string];
}

/** Parts of the statements that change rows, so that there is never a change without its record. They stay the same. */
export interface RecordStatements {
  /** The columns that {@link insert} reads of a created row, separated by commas. */
  readonly copied: string;
  /** A statement that adds a record for each row. It is performed once, in the snapshot of the statement that changes the rows. */
  insert(rows: ChangedRows): string;
}

/**
 * Records the changes of a resource. Each repository has one of its own.
 *
 * @example
 * // A list of who has done what, without a feed. Its table has the columns kind, actor and id.
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
  /** What `changes` of the repository is: how a service reads the records. */
  readonly changes: Changes;
  /**
   * `undefined`: changes are not recorded. Asked for at each change.
   *
   * @throws ServiceException if a change can have no record now: then it is rejected
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

/** Makes the recorder of a resource, in the constructor of its repository: what `changes` of its options is. */
export type MakeRecorder<Changes> = (resource: RecordedResource) => ChangeRecorder<Changes>;
