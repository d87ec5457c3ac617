import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { NameIndexCleaner } from './name-index-cleaner.js';
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

interface LookedUpRow {
  readonly id: string;
  /** `null` if the plant is long. */
  readonly name: string | null;
  readonly tag: string | null;
}

/** In milliseconds, for the parts of a group of which another transaction holds a row. */
const RETRY_LOCK_TIMEOUT = 50;

/** `unchanged`: the plant was stored before. */
export type Stored = 'created' | 'unchanged';

/** The statements on the table `plants`. */
@Injectable()
export class PlantsRepository {
  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly statements: Statements,
    private readonly nameIndex: NameIndexCleaner,
  ) {}

  /**
   * Stores the plants whose ids are free in one transaction. If concurrent transactions use the same id, the first
   * wins.
   *
   * @param plants with different ids
   * @param isRetry whether the statement waits only shortly for a lock, because a larger group has waited before
   * @returns the ids that are stored with the content of these plants, now or before
   */
  async create(plants: readonly Plant[], isRetry: boolean): Promise<ReadonlyMap<bigint, Stored>> {
    const stored = new Map<bigint, Stored>();
    if (plants.length === 0) return stored;
    // Sorted by id, so that concurrent transactions lock ids in the same order and cannot deadlock.
    const sorted = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const { rows } = await (plants.length === 1 && !isRetry
      ? this.statements.run<InsertedRow>(insertOne(sorted[0]!))
      : this.statements.run<InsertedRow>(insertMany(sorted, isRetry), () => insertValues(sorted)));
    for (const { id, created } of rows) stored.set(BigInt(id), created ? 'created' : 'unchanged');
    const created = plants.filter(({ id }) => stored.get(id) === 'created');
    this.nameIndex.noteNames(created.map(({ name }) => name));
    return stored;
  }

  /**
   * Returns the plants that a create would find free or stored with the same content. They must be created again, which
   * makes the commit as durable as the commit of the first create: Citus allows no `FOR KEY SHARE` on several shards.
   */
  async findCreatable(plants: readonly Plant[]): Promise<readonly Plant[]> {
    // Without the condition on `id`, Citus would read the whole table.
    const { rows } = await this.statements.run<{ n: string }>({
      text: `SELECT n FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS t (id, name, tag, n)
        JOIN (SELECT * FROM plants WHERE id = ANY ($1)) AS plants USING (id)
        WHERE plants.name <> t.name OR plants.tag IS DISTINCT FROM t.tag`,
      values: columnsOf(plants),
    });
    const different = new Set(rows.map(({ n }) => Number(n)));
    return plants.filter((_, index) => !different.has(index + 1));
  }

  /** @returns the plants whose names and tags have up to so many bytes, and the ids of longer plants */
  async findByIds(
    ids: readonly bigint[],
    maxBytes: number,
  ): Promise<{ readonly plants: readonly Plant[]; readonly long: readonly bigint[] }> {
    const isShort = `octet_length(name) + coalesce(octet_length(tag), 0) <= ${maxBytes}`;
    const rows = await this.plants
      .createQueryBuilder('plant')
      .select('id')
      .addSelect(`CASE WHEN ${isShort} THEN name END`, 'name')
      .addSelect(`CASE WHEN ${isShort} THEN tag END`, 'tag')
      // All ids are one parameter: `In` makes one of each, which takes TypeORM 10 µs for each look-up.
      .where('id = ANY (:ids)', { ids: ids.map(String) })
      .getRawMany<LookedUpRow>();
    const plants: Plant[] = [];
    const long: bigint[] = [];
    for (const { id, name, tag } of rows) {
      if (name === null) long.push(BigInt(id));
      else plants.push({ id: BigInt(id), name, tag });
    }
    return { plants, long };
  }

  findById(id: bigint): Promise<Plant | null> {
    return this.plants.findOneBy({ id });
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

function insertMany(plants: readonly Plant[], isRetry: boolean) {
  // Until the end of the transaction, which is this statement.
  const setLockTimeout = `WHERE set_config('lock_timeout', '${RETRY_LOCK_TIMEOUT}', true) IS NOT NULL`;
  return {
    name: isRetry ? 'retry-insert-plants' : 'insert-plants',
    text: `INSERT INTO plants (id, name, tag)
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ${isRetry ? setLockTimeout : ''} ${UNLESS_STORED}`,
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
