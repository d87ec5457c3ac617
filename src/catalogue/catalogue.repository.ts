import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { Statements } from '../database/statements.js';
import type { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
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
   * Changes a plant in one statement.
   *
   * @param expected changes the plant only if it has this content
   * @returns the changed plant, or `undefined` if there is none
   */
  async update(
    id: bigint,
    changes: Partial<Pick<Plant, 'name' | 'tag'>>,
    expected?: StoredPlantDto,
  ): Promise<Plant | undefined> {
    const { raw } = await this.plants
      .createQueryBuilder()
      .update()
      // Without a change, the statement still locks the row and compares it.
      .set(Object.keys(changes).length === 0 ? { name: () => 'name' } : changes)
      .where({ id, ...contentOf(expected) })
      .returning('*')
      .execute();
    return firstPlant(raw);
  }

  /**
   * Removes a plant in one statement.
   *
   * @param expected removes the plant only if it has this content
   * @returns the removed plant, or `undefined` if there is none
   */
  async remove(id: bigint, expected?: StoredPlantDto): Promise<Plant | undefined> {
    const { raw } = await this.plants
      .createQueryBuilder()
      .delete()
      .where({ id, ...contentOf(expected) })
      .returning('*')
      .execute();
    return firstPlant(raw);
  }
}

function contentOf(expected: StoredPlantDto | undefined) {
  return expected && { name: expected.name, tag: expected.tag ?? IsNull() };
}

/** TypeORM returns the rows of RETURNING as the driver does. */
function firstPlant(raw: unknown): Plant | undefined {
  const [row] = raw as PlantRow[];
  return row && toPlant(row);
}

function toPlant({ id, name, tag }: PlantRow): Plant {
  return { id: BigInt(id), name, tag };
}
