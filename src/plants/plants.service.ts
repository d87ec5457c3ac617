import { Injectable } from '@nestjs/common';
import { PLANT_ERRORS } from './plants.errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
import { toPlantDto, toStoredPlantDto } from './dto/plant-to-dto.js';
import type { StoredPlantDto } from './dto/stored-plant.dto.js';
import { GroupCommit } from './group-commit.js';
import type { Creation } from './group-commit.js';
import { GroupLookup } from './group-lookup.js';
import type { Plant } from './plant.entity.js';
import type { Stored } from './plants.repository.js';

@Injectable()
export class PlantsService {
  private lastCreate = -Infinity;

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
  async create(newPlant: NewPlantDto): Promise<PlantDto> {
    this.lastCreate = performance.now();
    const plant = toPlant(newPlant);
    requireStored(plant, await this.groupCommit.create(plant));
    return toPlantDto(plant);
  }

  /** Milliseconds since {@link create} was called. */
  get sinceCreate(): number {
    return performance.now() - this.lastCreate;
  }

  /**
   * Creates a plant like {@link create}, and tells whether it was stored before.
   *
   * @throws PlantStoreError `id-taken`
   */
  async store(newPlant: NewPlantDto): Promise<Stored> {
    const plant = toPlant(newPlant);
    return requireStored(plant, await this.groupCommit.create(plant));
  }

  /** @throws PlantStoreError `no-such-plant` */
  async get(id: bigint): Promise<StoredPlantDto> {
    const plant = await this.groupLookup.find(id);
    if (plant === undefined) throw noSuchPlant(id);
    return toStoredPlantDto(plant);
  }
}

function requireStored({ id }: Plant, creation: Creation): Stored {
  if (creation !== 'taken') return creation;
  throw new PlantStoreError(PLANT_ERRORS.idTaken, `id ${id} belongs to a plant with other content`);
}

function toPlant({ id, name, tag }: NewPlantDto): Plant {
  return { id, name, tag: tag ?? null };
}

export function noSuchPlant(id: bigint): PlantStoreError {
  return new PlantStoreError(PLANT_ERRORS.noSuchPlant, `there is no plant with id ${id}`);
}
