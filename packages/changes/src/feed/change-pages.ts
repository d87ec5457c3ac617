import type { Type } from '@nestjs/common';
import { escapeIdentifier } from 'pg';
import { BY_ID, MAX_INT64, PageStatements } from '@resource-service/framework/extension';
import type { Filter, Statements } from '@resource-service/framework';
import type { EntityColumns, Key, UsedFilter } from '@resource-service/framework/extension';
import { ChangeWriter } from './change-writer.js';
import type { WrittenChange } from './change-writer.js';
import type { FeedStates } from './feed-state.js';
import type { RecordedChange } from './recorded-change.js';

export interface ChangePagesOptions {
  /** The name of the content in a change, such as `tool`. */
  readonly property: string;
  /** The class of the content. */
  readonly dto: Type;
  /** The table that changes. Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The table of the records. */
  readonly records: () => EntityColumns;
  readonly statements: Statements;
}

export interface ChangeQuery {
  /** The last position that the reader knows. */
  readonly after: bigint;
  /** Whether the reader begins with the oldest record: then none is missing, whatever was removed. */
  readonly isFirst: boolean;
  /** Changes without a record up to this position do not keep it from reading. */
  readonly acceptGap?: bigint | undefined;
  /** The last position that it may read: a low watermark. */
  readonly until: bigint;
  readonly id?: Key | undefined;
  readonly limit: number;
  readonly maxBytes: number;
}

export interface FoundChanges<Change> {
  readonly changes: readonly Change[];
  /** Whether these are all until the end of the query. */
  readonly isWhole: boolean;
}

export class ChangePages {
  private sql: PageStatements | undefined;
  private writer: ChangeWriter | undefined;

  constructor(
    private readonly options: ChangePagesOptions,
    private readonly states: FeedStates,
  ) {}

  /** @throws ServiceException `changes-pruned` if records were pruned that the reader does not know */
  read(query: ChangeQuery): Promise<FoundChanges<WrittenChange>> {
    return this.find(query, (writer, row) => writer.write(row));
  }

  /** Like {@link read}, as objects. */
  objects(query: ChangeQuery): Promise<FoundChanges<RecordedChange>> {
    return this.find(query, (writer, row) => writer.read(row));
  }

  private async find<Change>(
    query: ChangeQuery,
    toChange: (writer: ChangeWriter, row: readonly unknown[]) => Change,
  ): Promise<FoundChanges<Change>> {
    const { limit, maxBytes, after, isFirst, until, id } = query;
    const { statements } = this.options;
    const filters: UsedFilter[] = [[this.reach(query), until]];
    if (id !== undefined) filters.push([this.ofId(), id]);
    const page = { start: after + 1n, end: MAX_INT64, sort: BY_ID, limit, filters, maxBytes };
    let rows = await statements.rows(this.statements.short(page));
    let isWhole = rows.length <= limit;
    if (rows.some(([isLong]) => isLong)) {
      rows = await statements.rows(this.statements.bounded(page));
      isWhole = rows.length === Number(rows[0]?.[0] ?? 0);
    }
    // The statement finds nothing after a position that was pruned meanwhile.
    if (rows.length === 0 && !isFirst) {
      const { prunedTo } = await this.states.read();
      await this.states.requireKept(query, prunedTo);
    }
    const writer = (this.writer ??= new ChangeWriter(
      this.options.property,
      this.statements.columns,
    ));
    return { changes: rows.slice(0, limit).map((row) => toChange(writer, row)), isWhole };
  }

  /** The condition that a record is within the reach of a reader, in the snapshot in which it is read. */
  private reach({ after, isFirst, acceptGap = 0n }: ChangeQuery): Filter<unknown> {
    const { table, tableName, key } = this.options.records();
    const prunedTo = `(SELECT ${escapeIdentifier(`${tableName}_pruned_to`)}())`;
    return {
      where: (until, parameter) => {
        const known = parameter(String(isFirst ? MAX_INT64 : after));
        const accepts = (): string =>
          `${parameter(String(acceptGap))} >= ${prunedTo} AND ${known} >= (SELECT min(${key.name}) FROM ${table})`;
        const isKnown = `${known} >= ${prunedTo}`;
        return `${key.name} <= ${parameter(String(until))} AND ${isFirst || acceptGap <= after ? isKnown : `(${isKnown} OR ${accepts()})`}`;
      },
    };
  }

  private ofId(): Filter<unknown> {
    const records = this.options.records();
    const [id, position] = [records.column('id').name, records.key.name];
    return {
      where: (value, parameter, start) =>
        `${id} = ${parameter(String(value))} AND ${position} >= ${parameter(start)}`,
      indexPrefix: id,
    };
  }

  /** Known when the database is connected. */
  private get statements(): PageStatements {
    const table = this.options.records();
    const columns = () => ChangeWriter.columns(table, this.options);
    return (this.sql ??= new PageStatements(table, columns(), 'change'));
  }
}
