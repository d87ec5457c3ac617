import { Injectable } from '@nestjs/common';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
import { toPlantDto, toStoredPlantDto } from './dto/plant-to-dto.js';
import type { StoredPlantDto } from './dto/stored-plant.dto.js';
import { GroupCommit } from './group-commit.js';
import { GroupLookup } from './group-lookup.js';
import type { Plant } from './plant.entity.js';

@Injectable()
export class PlantsService {
  constructor(
    private readonly groupCommit: GroupCommit,
    private readonly groupLookup: GroupLookup,
  ) {}

  /**
   * Creates a plant. Creating the same plant again succeeds and changes nothing, so a client may retry after a lost
   * answer.
   *
   * @throws PlantStoreError `id-taken` when the id belongs to a plant with other content
   */
  async create({ id, name, tag }: NewPlantDto): Promise<PlantDto> {
    const plant: Plant = { id, name, tag: tag ?? null };
    if ((await this.groupCommit.create(plant)) === 'taken') {
      throw new PlantStoreError('id-taken', `id ${id} belongs to a plant with other content`);
    }
    return toPlantDto(plant);
  }

  /** @throws PlantStoreError `no-such-plant` */
  async get(id: bigint): Promise<StoredPlantDto> {
    const plant = await this.groupLookup.find(id);
    if (plant === undefined) throw noSuchPlant(id);
    return toStoredPlantDto(plant);
  }
}

export function noSuchPlant(id: bigint): PlantStoreError {
  return new PlantStoreError('no-such-plant', `there is no plant with id ${id}`);
}
