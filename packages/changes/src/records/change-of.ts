import type { Type } from '@nestjs/common';
import { Column, getMetadataArgsStorage, PrimaryGeneratedColumn } from 'typeorm';
import type { ColumnOptions } from 'typeorm';
import { TIMESTAMP_COLUMN } from '@resource-service/framework';
import {
  checkAtStart,
  propertyColumnsOf,
  setTableNeeds,
  tableNames,
} from '@resource-service/framework/extension';
import type { ChangedRows, Key, Keyed } from '@resource-service/framework/extension';
import { recordNeeds } from './record-needs.js';

export type ChangeKind = ChangedRows['kind'];

/** A record of a change. */
export interface Change {
  /** Greater than the positions of all records that a reader can have seen before. */
  readonly position: bigint;
  /** When the transaction began. */
  readonly time: Date;
  readonly kind: ChangeKind;
  /** Kind and id of the principal, separated by a colon. */
  readonly principal: string;
  readonly requestId: string;
  readonly id: Key;
}

/**
 * In bytes. PostgreSQL cuts names after 63, and the name of the sequence of positions in another way than others: with a longer name of the
 * table, what begins with it would not be found.
 */
const MAX_TABLE_NAME = 50;

/**
 * A class with the columns of a record, and with the columns of an entity whose properties are in its DTO: `class ToolChange extends
 * ChangeOf(Tool) {}`. They have the content after the change, and are null after a removal. The service does not start if a property
 * of the entity, or its column, has the name of one of the record.
 *
 * @example
 * @Index('tool_changes_id_position_idx', ['id', 'position'])
 * @Entity('tool_changes')
 * export class ToolChange extends ChangeOf(Tool) {}
 */
export function ChangeOf<Entity extends Keyed>(entity: Type<Entity>): Type<Change> {
  abstract class ChangeColumns {
    @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
    readonly position!: bigint;

    @Column({ ...TIMESTAMP_COLUMN, default: () => 'now()' })
    readonly time!: Date;

    @Column('text')
    readonly kind!: ChangeKind;

    @Column('text')
    readonly principal!: string;

    @Column('text', { name: 'request_id' })
    readonly requestId!: string;
  }
  const columns = getMetadataArgsStorage().filterColumns(ChangeColumns);
  const own = new Set(columns.map(({ options, propertyName }) => options.name ?? propertyName));
  const properties = new Set(columns.map(({ propertyName }) => propertyName));
  const mistakes: string[] = [];
  for (const { propertyName, options } of propertyColumnsOf(entity)) {
    const { primary = false, type, name, array, length, precision, scale, transformer } = options;
    const property = `${entity.name}.${propertyName}`;
    if (own.has(name ?? propertyName)) {
      mistakes.push(`${property} has the name of a column of a record`);
    } else if (properties.has(propertyName)) {
      // It would take the place of the property of the record, and a generated migration would drop its column.
      mistakes.push(
        `${property} has the name of a property of a record: rename the property, and keep its column`,
      );
    } else {
      const copied = { type, name, array, length, precision, scale, transformer } as ColumnOptions;
      Column({ ...copied, nullable: !primary })(ChangeColumns.prototype, propertyName);
    }
  }
  checkAtStart(ChangeColumns, ({ type }) => [
    ...mistakes,
    ...tableNames([type])
      .filter((table) => Buffer.byteLength(table) > MAX_TABLE_NAME)
      .map((table) => `${type.name}: the name ${table} must have at most ${MAX_TABLE_NAME} bytes`),
  ]);
  setTableNeeds(ChangeColumns as Type, (table) => {
    const [changing] = tableNames([entity]);
    return recordNeeds(table, changing);
  });
  return ChangeColumns as unknown as Type<Change>;
}
