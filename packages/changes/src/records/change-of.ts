import type { Type } from '@nestjs/common';
import { Column, getMetadataArgsStorage, PrimaryGeneratedColumn } from 'typeorm';
import type { ColumnOptions } from 'typeorm';
import type { ColumnMetadataArgs } from 'typeorm/metadata-args/ColumnMetadataArgs.js';
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

/** The properties that each record has itself, beside the content. */
export const RECORD_PROPERTIES = ['position', 'time', 'kind', 'principal', 'requestId'] as const;

const RECORD_COLUMNS = ['position', 'time', 'kind', 'principal', 'request_id'];

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
 * ChangeOf(Tool) {}`. They have the content after the change, and are null after a removal. A property or column of the entity whose
 * name the record needs itself has a prefix there: `kind` is `content_kind`.
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
  for (const column of propertyColumnsOf(entity)) {
    const { primary = false, type, array, length, precision, scale, transformer } = column.options;
    const name = contentColumn(nameOf(column));
    const copied = { type, name, array, length, precision, scale, transformer } as ColumnOptions;
    const property = contentProperty(column.propertyName);
    Column({ ...copied, nullable: !primary })(ChangeColumns.prototype, property);
  }
  checkAtStart(ChangeColumns, ({ type }) => [
    ...ambiguousNames(entity),
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

/** The property of a record that has the content of this property. */
export function contentProperty(property: string): string {
  return apartFrom(RECORD_PROPERTIES, property);
}

function contentColumn(name: string): string {
  return apartFrom(RECORD_COLUMNS, name);
}

function apartFrom(names: readonly string[], name: string): string {
  return names.includes(name) ? `content_${name}` : name;
}

/** A line for each column of the entity whose name in the record is the name of another column, public or not. */
function* ambiguousNames(entity: Type): Generator<string> {
  const columns = getMetadataArgsStorage().columns.filter(
    ({ target }) => target === entity || entity.prototype instanceof (target as Function),
  );
  const names = new Set(columns.flatMap((column) => [column.propertyName, nameOf(column)]));
  for (const column of columns) {
    const [property, name] = [column.propertyName, nameOf(column)];
    const taken = [contentProperty(property), contentColumn(name)].find(
      (each) => each !== property && each !== name && names.has(each),
    );
    if (taken === undefined) continue;
    yield `${entity.name}.${property} is called ${taken} in a record, as another property is: rename one of them`;
  }
}

function nameOf({ options, propertyName }: ColumnMetadataArgs): string {
  return options.name ?? propertyName;
}
