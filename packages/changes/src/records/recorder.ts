import { setTimeout as sleep } from 'node:timers/promises';
import { escapeIdentifier } from 'pg';
import { ERRORS, ServiceException, StartupError } from '@resource-service/framework';
import { describeError, isOutage, prune } from '@resource-service/framework/extension';
import type {
  ChangeRecorder,
  EntityColumns,
  RecordedResource,
} from '@resource-service/framework/extension';
import { changesOfService } from '../changes-of-service.js';
import { ChangeReader } from '../feed/change-reader.js';
import { Feed } from '../feed/feed.js';
import { Followers } from '../feed/followers.js';
import { ChangeStatements } from './change-statements.js';
import { findObstacles, warnOfOldFunctions } from './obstacles.js';

/** Between two attempts to begin, in milliseconds. */
const RETRY = 1_000;

/** Records the changes of a resource in a table, and offers them as a feed. */
export class Recorder implements ChangeRecorder<Feed> {
  readonly changes: Feed;
  private readonly reader: ChangeReader;
  private known: ChangeStatements | undefined;
  /** The database could not tell yet whether changes can be recorded, or could not note that they are. */
  private isPending = false;

  /**
   * @param records the table of the records. Known when the database is connected
   * @param property the name of the content in a change, such as `tool`
   */
  constructor(
    private readonly resource: RecordedResource,
    private readonly records: () => EntityColumns,
    property: string,
  ) {
    const { dto, columns, statements, bulkheads, shutdown, logger } = resource;
    const ofService = changesOfService(resource);
    const reader = (this.reader = new ChangeReader({
      property,
      dto,
      columns,
      records,
      statements,
      slots: bulkheads.lists,
      isRecorded: () => this.isRecorded,
      onUnrecorded: (position, isNew) => this.reportUnrecorded(position, isNew),
    }));
    const { followerSlots: slots, followerReads: reads } = ofService;
    const followers = new Followers({ reader, slots, reads, shutdown, logger });
    if (this.isWanted !== false) ofService.observe(resource, followers);
    this.changes = new Feed(reader, followers, bulkheads.lists);
  }

  /** @throws ServiceException `database-unavailable` if the records could not be begun: a change could have none */
  get statements(): ChangeStatements | undefined {
    if (this.isPending) throw new ServiceException(ERRORS.databaseUnavailable);
    return this.known;
  }

  /** A database that is read-only or full fails here, but serves reads: then it is tried again. */
  async start(signal: AbortSignal): Promise<void> {
    if (await this.begin()) this.prune(signal);
    else void this.beginLater(signal);
  }

  /** `undefined`: if the database can. */
  private get isWanted(): boolean | undefined {
    return this.resource.config.changes.enabled;
  }

  private get isRecorded(): boolean {
    return this.isPending ? this.isWanted !== false : this.known !== undefined;
  }

  /**
   * Finds out whether changes can be recorded.
   *
   * @returns whether it has succeeded
   * @throws StartupError if changes must be recorded, and the database cannot
   */
  private async begin(): Promise<boolean> {
    const { columns, logger } = this.resource;
    const changes = `changes of ${columns().tableName}`;
    try {
      this.known = await this.findStatements();
      if (this.isPending) logger.info(`${changes} are accepted again`);
      this.isPending = false;
    } catch (error) {
      if (error instanceof StartupError || !isOutage(error)) throw error;
      const reason = describeError(error);
      if (!this.isPending) logger.error({ reason }, `${changes} are rejected for now`);
      this.isPending = true;
    }
    return !this.isPending;
  }

  private async beginLater(signal: AbortSignal): Promise<void> {
    try {
      do await sleep(RETRY, undefined, { signal, ref: false });
      while (!(await this.begin()));
      this.prune(signal);
    } catch (error) {
      if (signal.aborted) return;
      const reason = describeError(error);
      const { tableName } = this.records();
      this.resource.logger.error(
        { reason },
        `${tableName}: changes are rejected until the next start`,
      );
    }
  }

  private async findStatements(): Promise<ChangeStatements | undefined> {
    const { isWanted, records } = this;
    const { columns, logger, statements } = this.resource;
    if (isWanted === false) return undefined;
    const table = columns().tableName;
    if (statements.isDistributed) {
      const reason =
        'the database is distributed with Citus, where changes of several shards have no order';
      if (isWanted === true) throw new StartupError(`CHANGES_ENABLED must not be true: ${reason}`);
      logger.warn({ reason }, `changes of ${table} are not recorded`);
      return undefined;
    }
    const reasons = await findObstacles(statements, columns(), records());
    if (reasons.length > 0) {
      throw new StartupError(
        reasons.map((reason) => `changes of ${table} cannot be recorded: ${reason}`).join('\n'),
      );
    }
    await warnOfOldFunctions(statements, records().tableName, table, logger);
    return new ChangeStatements(columns(), records());
  }

  private prune(signal: AbortSignal): void {
    if (this.known === undefined) return;
    const { statements, logger, config } = this.resource;
    const { tableName: table } = this.records();
    const { recordPruned, recordUnrecorded } = changesOfService(this.resource);
    const statement = {
      text: `SELECT ${escapeIdentifier(`prune_${table}`)}(now() - make_interval(secs => $1), $2)`,
      values: [config.changes.retention / 1_000],
    };
    // An increase is seen from the first one.
    recordUnrecorded(this.resource.columns().tableName, 0);
    const onPruned = (pruned: number): void => {
      recordPruned(table, pruned);
      // Without readers, nobody else notices changes without a record.
      this.reader.states.read().catch(() => {});
    };
    void prune({ table, rows: 'changes', statement, statements, logger, onPruned }, signal);
  }

  private reportUnrecorded(position: bigint, isNew: boolean): void {
    const { logger, columns } = this.resource;
    const { tableName: table } = columns();
    if (isNew) changesOfService(this.resource).recordUnrecorded(table);
    logger.warn(
      { event: 'unrecorded-change', table, position: String(position) },
      `${table} was changed without a record, such as by SQL: readers of its changes get 41000 (docs/changes.md#changes-without-a-record)`,
    );
  }
}
