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

/** Writes rows of records as JSON. */
export class ChangeWriter {
  private readonly content: readonly EntityColumn[];
  private readonly own: Readonly<Record<(typeof OWN)[number], number>>;
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

  /** @param member the name of the content, such as `tool` */
  constructor(
    private readonly member: string,
    columns: readonly EntityColumn[],
  ) {
    const at = (name: string) => 1 + columns.findIndex(({ property }) => property === name);
    this.content = columns.slice(0, -OWN.length);
    this.own = {
      position: at('position'),
      time: at('time'),
      kind: at('kind'),
      principal: at('principal'),
      requestId: at('requestId'),
    };
    this.id = at('id');
    this.idColumn = columns[this.id - 1]!;
  }

  write(row: readonly unknown[]): WrittenChange {
    const { own } = this;
    const position = String(row[own.position]);
    const { [this.id]: idValue } = row;
    const kind = String(row[own.kind]);
    const content = kind === 'removed' ? '' : `,"${this.member}":${rowToJson(this.content, row)}`;
    const [principalKind, ...idParts] = String(row[own.principal]).split(':');
    const principal = JSON.stringify({ kind: principalKind, id: idParts.join(':') });
    const time = row[own.time] as Date;
    const json = `{"position":${position},"time":"${time.toISOString()}","kind":"${kind}","id":${this.idColumn.toJson(idValue)}${content},"principal":${principal},"requestId":${JSON.stringify(row[own.requestId])}}`;
    return {
      position: BigInt(position),
      id: this.idColumn.fromDriver(idValue) as Key,
      time: time.getTime(),
      json,
    };
  }
}
