import type { Type } from '@nestjs/common';
import { rowToJson } from '@resource-service/framework/extension';
import type { EntityColumn, EntityColumns, Key } from '@resource-service/framework/extension';

/** A change as JSON. */
export interface WrittenChange {
  readonly position: bigint;
  /** The id of the row that has changed. */
  readonly id: Key;
  /** When the transaction began, as of `Date.now()`. */
  readonly time: number;
  readonly json: string;
}

const OWN = ['position', 'time', 'kind', 'principal', 'requestId'] as const;

type OwnValues = readonly [
  position: string,
  time: Date,
  kind: string,
  principal: string,
  requestId: string,
];

/** Writes rows of records as JSON. */
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
      .map(({ property }) => records.column(property));
    return [...content, ...OWN.map((property) => records.column(property))];
  }

  /** @param property the name of the content, such as `tool` */
  constructor(
    private readonly property: string,
    columns: readonly EntityColumn[],
  ) {
    this.content = columns.slice(0, -OWN.length);
    this.id = 1 + columns.findIndex((column) => column.property === 'id');
    this.idColumn = columns[this.id - 1]!;
  }

  write(row: readonly unknown[]): WrittenChange {
    // In the order of OWN.
    const [position, time, kind, owner, requestId] = row.slice(
      1 + this.content.length,
    ) as unknown as OwnValues;
    const id = row[this.id];
    const content = kind === 'removed' ? '' : `,"${this.property}":${rowToJson(this.content, row)}`;
    const [principalKind, ...idParts] = owner.split(':');
    const principal = JSON.stringify({ kind: principalKind, id: idParts.join(':') });
    const json = `{"position":${position},"time":"${time.toISOString()}","kind":"${kind}","id":${this.idColumn.toJson(id)}${content},"principal":${principal},"requestId":${JSON.stringify(requestId)}}`;
    return {
      position: BigInt(position),
      id: this.idColumn.fromDriver(id) as Key,
      time: time.getTime(),
      json,
    };
  }
}
