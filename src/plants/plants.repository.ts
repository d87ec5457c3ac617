import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Statements } from '../database/statements.js';
import { Plant } from './plant.entity.js';

/*
 * An id that is there meets a conflict. Where the content is the same, the row is updated to what it is, so that
 * the commit is a real one: it waits, as the first one did, until the plant is as safe as the server is told to
 * make it (manual, chapter 26.2.8). Where the content differs, no row is returned.
 */
const UNLESS_STORED = `ON CONFLICT (id) DO UPDATE SET name = plants.name
  WHERE plants.name = EXCLUDED.name AND plants.tag IS NOT DISTINCT FROM EXCLUDED.tag
  RETURNING id`;

/** The statements on the table `plants`. */
@Injectable()
export class PlantsRepository {
  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly statements: Statements,
  ) {}

  /**
   * Stores the plants whose ids are free, all in one transaction. Atomic: of two equal ids, wherever they come
   * from, one wins.
   *
   * @param plants with different ids
   * @returns the ids that belong to these plants now, and not to plants with other content
   */
  async create(plants: readonly Plant[]): Promise<ReadonlySet<bigint>> {
    const { rows } = await this.statements.run<{ id: string }>(
      plants.length === 1 ? insertOne(plants[0]!) : insertMany(plants),
    );
    return new Set(rows.map(({ id }) => BigInt(id)));
  }

  /**
   * Finds out which of the plants are stored with the same content. A row lock makes the commit a real one, as
   * durable as a create.
   */
  async findStored(plants: readonly Plant[]): Promise<readonly Plant[]> {
    const { rows } = await this.statements.run<{ n: string }>({
      text: `SELECT n FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS t (id, name, tag, n)
        JOIN plants USING (id)
        WHERE plants.name = t.name AND plants.tag IS NOT DISTINCT FROM t.tag FOR KEY SHARE OF plants`,
      values: columnsOf(plants),
    });
    return rows.map(({ n }) => plants[Number(n) - 1]!);
  }

  findById(id: bigint): Promise<Plant | null> {
    return this.plants.findOneBy({ id });
  }
}

/** Takes PostgreSQL less time than the statement for many. */
function insertOne({ id, name, tag }: Plant) {
  return {
    name: 'insert-plant',
    text: `INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ${UNLESS_STORED}`,
    values: [String(id), name, tag],
  };
}

function insertMany(plants: readonly Plant[]) {
  // In the order of their ids: two transactions that wait for each other's ids would not end.
  const sorted = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return {
    name: 'insert-plants',
    text: `INSERT INTO plants (id, name, tag)
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ${UNLESS_STORED}`,
    values: columnsOf(sorted),
  };
}

/** The plants as one array for each column, for `unnest`. */
function columnsOf(plants: readonly Plant[]) {
  return [
    plants.map(({ id }) => String(id)),
    plants.map(({ name }) => name),
    plants.map(({ tag }) => tag),
  ];
}
