import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { NameIndexCleaner } from '../plants/name-index-cleaner.js';
import { Statements } from '../database/statements.js';
import { Plant } from '../plants/plant.entity.js';
import { boundedPage, isLong, shortPage } from './page-statement.js';
import type { PageQuery, PageRow } from './page-statement.js';

export interface FoundPlants {
  /** In ascending order of id. */
  readonly rows: readonly PageRow[];
  /** Whether these are all plants that match. */
  readonly isWhole: boolean;
}

interface PlantRow {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** The statements on many plants, and those that change a plant. */
@Injectable()
export class CatalogueRepository {
  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly statements: Statements,
    private readonly nameIndex: NameIndexCleaner,
  ) {}

  /** Returns the first plants that match: at most `limit`, and at least one if there is any. */
  async find(query: PageQuery): Promise<FoundPlants> {
    const { limit } = query;
    const short = await this.statements.rows<PageRow>(shortPage(query));
    if (!short.some(isLong)) {
      return { rows: short.slice(0, limit), isWhole: short.length <= limit };
    }
    const rows = await this.statements.rows<PageRow>(boundedPage(query));
    return { rows, isWhole: rows.length === Number(rows[0]?.[3] ?? 0) };
  }

  /**
   * Changes a plant, without a check in one statement.
   *
   * @param check called with the plant that is about to be changed. If it throws, nothing changes
   * @returns the changed plant, or `undefined` if there is none
   */
  update(
    id: bigint,
    changes: Partial<Pick<Plant, 'name' | 'tag'>>,
    check?: (plant: Plant) => void,
  ): Promise<Plant | undefined> {
    return this.change(id, check, async (plants) => {
      const { raw } = await plants
        .createQueryBuilder()
        .update()
        // Without a change, the statement still writes, so that its commit waits for standbys.
        .set(Object.keys(changes).length === 0 ? { name: () => 'name' } : changes)
        .where({ id })
        .returning('*')
        .execute();
      if (changes.name !== undefined) this.nameIndex.noteNames([changes.name]);
      return firstPlant(raw);
    });
  }

  /**
   * Removes a plant, without a check in one statement.
   *
   * @param check called with the plant that is about to be removed. If it throws, nothing changes
   * @returns the removed plant, or `undefined` if there is none
   */
  remove(id: bigint, check?: (plant: Plant) => void): Promise<Plant | undefined> {
    return this.change(id, check, async (plants) => {
      const { raw } = await plants
        .createQueryBuilder()
        .delete()
        .where({ id })
        .returning('*')
        .execute();
      return firstPlant(raw);
    });
  }

  /** Locks the row before the check, so that a concurrent change is either seen by the check or waits for this change. */
  private change(
    id: bigint,
    check: ((plant: Plant) => void) | undefined,
    perform: (plants: Repository<Plant>) => Promise<Plant | undefined>,
  ): Promise<Plant | undefined> {
    if (check === undefined) return perform(this.plants);
    return this.plants.manager.transaction(async (manager) => {
      const plants = manager.getRepository(Plant);
      const plant = await plants.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      if (plant === null) return undefined;
      check(plant);
      return perform(plants);
    });
  }
}

/** TypeORM returns the rows of RETURNING as the driver does. */
function firstPlant(raw: unknown): Plant | undefined {
  const [row] = raw as PlantRow[];
  return row && toPlant(row);
}

function toPlant({ id, name, tag }: PlantRow): Plant {
  return { id: BigInt(id), name, tag };
}
