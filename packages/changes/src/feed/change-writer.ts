import type { Type } from '@nestjs/common';
import { rowToJson } from '@resource-service/framework/extension';
import type { EntityColumn, EntityColumns, Key } from '@resource-service/framework/extension';
import { contentProperty, RECORD_PROPERTIES } from '../records/change-of.js';
import type { ChangeKind } from '../records/change-of.js';
import type { RecordedChange } from './recorded-change.js';

export interface WrittenChange {
  readonly position: bigint;
  readonly id: Key;
  /** When the transaction began, as of `Date.now()`. */
  readonly time: number;
  readonly json: string;
}

/** In the order of `RECORD_PROPERTIES`. */
type OwnValues = readonly [
  position: string,
  time: Date,
  kind: ChangeKind,
  principal: string,
  requestId: string,
];

export class ChangeWriter {
  private readonly content: readonly EntityColumn[];
  private readonly id: number;
  private readonly idColumn: EntityColumn;

  /** The columns that a row must have, after its first value. */
  static columns(
    records: EntityColumns,
    { dto, columns }: { readonly dto: Type; readonly columns: () => EntityColumns },
  ): readonly EntityColumn[] {
    const content = columns()
      .of(dto)
      .map((column) => contentOf(records, column));
    return [...content, ...RECORD_PROPERTIES.map((property) => records.column(property))];
  }

  /** @param property the name of the content, such as `tool` */
  constructor(
    private readonly property: string,
    columns: readonly EntityColumn[],
  ) {
    this.content = columns.slice(0, -RECORD_PROPERTIES.length);
    this.id = 1 + columns.findIndex((column) => column.property === 'id');
    this.idColumn = columns[this.id - 1]!;
  }

  write(row: readonly unknown[]): WrittenChange {
    const [position, time, kind, owner, requestId] = this.ownOf(row);
    const id = row[this.id];
    const content = kind === 'removed' ? '' : `,"${this.property}":${rowToJson(this.content, row)}`;
    const principal = JSON.stringify(principalOf(owner));
    const json = `{"position":${position},"time":"${time.toISOString()}","kind":"${kind}","id":${this.idColumn.toJson(id)}${content},"principal":${principal},"requestId":${JSON.stringify(requestId)}}`;
    return {
      position: BigInt(position),
      id: this.idColumn.fromDriver(id) as Key,
      time: time.getTime(),
      json,
    };
  }

  /** As an object, whose content has no property for null. */
  read(row: readonly unknown[]): RecordedChange {
    const [position, time, kind, owner, requestId] = this.ownOf(row);
    const content: Record<string, unknown> = {};
    for (const [at, { property, fromDriver }] of this.content.entries()) {
      if (row[at + 1] !== null) content[property] = fromDriver(row[at + 1]);
    }
    return {
      position: BigInt(position),
      time,
      kind,
      id: this.idColumn.fromDriver(row[this.id]) as Key,
      content: kind === 'removed' ? undefined : content,
      principal: principalOf(owner),
      requestId,
    };
  }

  private ownOf(row: readonly unknown[]): OwnValues {
    return row.slice(1 + this.content.length) as unknown as OwnValues;
  }
}

/** The column of a record with the content of another one, whose name it has in JSON. */
function contentOf(records: EntityColumns, { property, jsonName }: EntityColumn): EntityColumn {
  return { ...records.column(contentProperty(property)), property, jsonName };
}

function principalOf(owner: string): RecordedChange['principal'] {
  const [kind = '', ...parts] = owner.split(':');
  return { kind, id: parts.join(':') };
}
