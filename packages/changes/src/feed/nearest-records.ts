import { escapeIdentifier } from 'pg';
import type { Statements } from '@resource-service/framework';
import type { EntityColumns, Semaphore } from '@resource-service/framework/extension';

export interface NearestRecordsOptions {
  /** Known when the database is connected. */
  readonly records: () => EntityColumns;
  readonly statements: Statements;
  readonly slots: Semaphore;
}

/** By the positions that were asked for. */
type Found = ReadonlyMap<bigint, bigint>;

/**
 * Finds the record nearest to a position. All callers share a statement that begins after their calls: after a start of the server, thousands of
 * followers can come with positions of an earlier incarnation at once.
 */
export class NearestRecords {
  private next: { readonly positions: Set<bigint>; readonly found: Promise<Found> } | undefined;
  private reading: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: NearestRecordsOptions) {}

  /** The greatest position of a record at or below this one, or of those that were pruned; 0: there is none. */
  async before(position: bigint): Promise<bigint> {
    this.next ??= this.shared();
    const { positions, found } = this.next;
    positions.add(position);
    return (await found).get(position)!;
  }

  private shared() {
    const positions = new Set<bigint>();
    const found = this.reading.then(() => {
      this.next = undefined;
      const read = this.options.slots.run(() => this.read([...positions]));
      this.reading = Promise.allSettled([read]);
      return read;
    });
    return { positions, found };
  }

  private async read(positions: readonly bigint[]): Promise<Found> {
    const { statements, records } = this.options;
    const { table, tableName, key } = records();
    const rows = await statements.rows<[string | null]>({
      text: `SELECT greatest(
          (SELECT max(${key.name}) FROM ${table} WHERE ${key.name} <= wanted.position),
          ${escapeIdentifier(`${tableName}_pruned_to`)}()
        ) FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (position, number) ORDER BY number`,
      values: [positions.map(String)],
    });
    return new Map(positions.map((position, at) => [position, BigInt(rows[at]?.[0] ?? 0)]));
  }
}
