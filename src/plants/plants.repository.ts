import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Raw, Repository } from 'typeorm';
import { Statements } from '../database/statements.js';
import { Plant } from './plant.entity.js';

/*
 * If the id exists with the same content, the row is updated without a change. The update makes the COMMIT write WAL
 * and wait for the flush and for synchronous standbys, like the commit of the first create (manual, chapter 26.2.8).
 * If the content differs, no row is returned. Only an updated row has an xmax: its lock in ON CONFLICT sets it.
 */
const UNLESS_STORED = `ON CONFLICT (id) DO UPDATE SET name = plants.name
  WHERE plants.name = EXCLUDED.name AND plants.tag IS NOT DISTINCT FROM EXCLUDED.tag
  RETURNING id, xmax = 0 AS created`;

interface InsertedRow {
  readonly id: string;
  readonly created: boolean;
}

/** `unchanged`: the plant was stored before. */
export type Stored = 'created' | 'unchanged';

/** The statements on the table `plants`. */
@Injectable()
export class PlantsRepository {
  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly statements: Statements,
  ) {}

  /**
   * Stores the plants whose ids are free in one transaction. If concurrent transactions use the same id, the first
   * wins.
   *
   * @param plants with different ids
   * @returns the ids that are stored with the content of these plants, now or before
   */
  async create(plants: readonly Plant[]): Promise<ReadonlyMap<bigint, Stored>> {
    // Sorted by id, so that concurrent transactions lock ids in the same order and cannot deadlock.
    const sorted = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const { rows } = await (plants.length === 1
      ? this.statements.run<InsertedRow>(insertOne(sorted[0]!))
      : this.statements.run<InsertedRow>(insertMany(sorted), () => insertValues(sorted)));
    const stored = new Map<bigint, Stored>();
    for (const { id, created } of rows) stored.set(BigInt(id), created ? 'created' : 'unchanged');
    return stored;
  }

  /**
   * Returns the plants that are stored with the same content. They are created again, which makes the commit as durable
   * as the commit of the first create: Citus allows no `FOR KEY SHARE` on several shards.
   */
  async findStored(plants: readonly Plant[]): Promise<readonly Plant[]> {
    // Without the condition on `id`, Citus would read the whole table.
    const { rows } = await this.statements.run<{ n: string }>({
      text: `SELECT n FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS t (id, name, tag, n)
        JOIN (SELECT * FROM plants WHERE id = ANY ($1)) AS plants USING (id)
        WHERE plants.name = t.name AND plants.tag IS NOT DISTINCT FROM t.tag`,
      values: columnsOf(plants),
    });
    if (rows.length === 0) return [];
    const same = rows.map(({ n }) => plants[Number(n) - 1]!);
    const stored = await this.create([...new Map(same.map((plant) => [plant.id, plant])).values()]);
    return same.filter(({ id }) => stored.has(id));
  }

  findByIds(ids: readonly bigint[]): Promise<Plant[]> {
    // All ids are one parameter: `In` makes one of each, which takes TypeORM 10 µs for each look-up. `Any` would give the
    // whole array to the transformer of the column.
    return this.plants.findBy({ id: Raw((id) => `${id} = ANY (:ids)`, { ids: ids.map(String) }) });
  }
}

/** A faster statement for a single plant. */
function insertOne({ id, name, tag }: Plant) {
  return {
    name: 'insert-plant',
    text: `INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ${UNLESS_STORED}`,
    values: [String(id), name, tag],
  };
}

function insertMany(plants: readonly Plant[]) {
  return {
    name: 'insert-plants',
    text: `INSERT INTO plants (id, name, tag)
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ${UNLESS_STORED}`,
    values: columnsOf(plants),
  };
}

/** Citus sends these rows straight to their shards, but copies rows from `unnest` to files first. */
function insertValues(plants: readonly Plant[]) {
  const rows = plants.map((_, i) => `($${3 * i + 1}, $${3 * i + 2}, $${3 * i + 3})`);
  return {
    text: `INSERT INTO plants (id, name, tag) VALUES ${rows.join()} ${UNLESS_STORED}`,
    values: plants.flatMap(({ id, name, tag }) => [String(id), name, tag]),
  };
}

/** One array for each column, for `unnest`. */
function columnsOf(plants: readonly Plant[]) {
  return [
    plants.map(({ id }) => String(id)),
    plants.map(({ name }) => name),
    plants.map(({ tag }) => tag),
  ];
}
