import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { Plant } from './plant.entity.js';

/** The statements on the table `plants`. */
@Injectable()
export class PlantsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the plants whose ids are free, all in one transaction. Atomic: of two equal ids, wherever
   * they come from, one wins.
   *
   * @param plants with different ids
   * @returns the ids that were free
   */
  async insertAbsent(plants: readonly Plant[]): Promise<ReadonlySet<bigint>> {
    const [lone] = plants;
    if (lone !== undefined && plants.length === 1) {
      return new Set((await this.insertLone(lone)) ? [lone.id] : []);
    }
    // In the order of their ids: two transactions that wait for each other's ids would not end.
    const sorted = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const { rows } = await this.database.statement<{ id: string }>({
      name: 'insert-plants',
      text: `INSERT INTO plants (id, name, tag)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
         ON CONFLICT (id) DO NOTHING RETURNING id`,
      values: columnsOf(sorted),
    });
    return new Set(rows.map(({ id }) => BigInt(id)));
  }

  /** The same for one plant, which takes PostgreSQL less time. */
  private async insertLone({ id, name, tag }: Plant): Promise<boolean> {
    const { rowCount } = await this.database.statement({
      name: 'insert-plant',
      text: `INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`,
      values: [String(id), name, tag],
    });
    return rowCount === 1;
  }

  /**
   * Whether each plant is stored with the same content; `undefined` where its id is free. The texts are
   * compared by the database, because those that are stored can be far longer than those that are sent.
   */
  async compareWithStored(plants: readonly Plant[]): Promise<readonly (boolean | undefined)[]> {
    const { rows } = await this.database.statement<{ same: boolean | null }>({
      // Without a name: the best plan depends on how many plants there are by then.
      text: `SELECT CASE WHEN plants.id IS NOT NULL THEN plants.name = t.name
         AND plants.tag IS NOT DISTINCT FROM t.tag END AS same
       FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS t (id, name, tag, n)
       LEFT JOIN plants USING (id) ORDER BY n`,
      values: columnsOf(plants),
    });
    return rows.map(({ same }) => same ?? undefined);
  }

  findById(id: bigint): Promise<Plant | null> {
    return this.database.transaction((manager) => manager.findOneBy(Plant, { id }));
  }
}

/** The plants as one array for each column, for `unnest`. */
function columnsOf(plants: readonly Plant[]) {
  return [
    plants.map(({ id }) => String(id)),
    plants.map(({ name }) => name),
    plants.map(({ tag }) => tag),
  ];
}
