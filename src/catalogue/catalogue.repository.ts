import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import type { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
import { Plant } from '../plants/plant.entity.js';
import type { PlantFilterDto } from './dto/plant-filter.dto.js';

/** The index on tags has hashes, because an index entry cannot be as long as a tag (manual, chapter 64.1). */
const TAG_IS = 'hashtextextended(plant.tag, 0) = hashtextextended(:tag, 0) AND plant.tag = :tag';

/** Folds case in all of Unicode, whatever the collation of the database: `ß`, `SS` and `ẞ` are equal, and so are `ς` and `Σ`. */
const folded = (text: string): string => `upper(lower(${text} COLLATE "und-x-icu"))`;

/** The trigram index has the first 1,000 characters of a name. A second index finds the few longer names. */
const NAME_CONTAINS = `(${folded('left(plant.name, 1000)')} LIKE ${folded(':pattern')}
  OR length(plant.name) > 1000 AND ${folded('plant.name')} LIKE ${folded(':pattern')})`;

/** The statements on many plants, and those that change a plant. */
@Injectable()
export class CatalogueRepository {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  /**
   * Returns plants that match the filter, in ascending order of id.
   *
   * @param after only greater ids
   */
  find({ tag, name }: PlantFilterDto, after: bigint | undefined, limit: number): Promise<Plant[]> {
    const query = this.plants.createQueryBuilder('plant').orderBy('plant.id').limit(limit);
    if (after !== undefined) query.andWhere('plant.id > :after', { after: String(after) });
    if (tag !== undefined) query.andWhere(TAG_IS, { tag });
    if (name !== undefined) {
      query.andWhere(NAME_CONTAINS, { pattern: `%${name.replaceAll(/[\\%_]/g, '\\$&')}%` });
    }
    return query.getMany();
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
    return toPlant(raw);
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
    return toPlant(raw);
  }
}

function contentOf(expected: StoredPlantDto | undefined) {
  return expected && { name: expected.name, tag: expected.tag ?? IsNull() };
}

/** TypeORM returns the rows of RETURNING as the driver does. */
function toPlant(raw: unknown): Plant | undefined {
  const [row] = raw as { id: string; name: string; tag: string | null }[];
  return row && { ...row, id: BigInt(row.id) };
}
