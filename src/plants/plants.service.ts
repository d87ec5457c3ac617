import { Injectable } from '@nestjs/common';
import type { Origin } from '@resource-service/framework';
import { PlantDto } from './dto/plant.dto.js';
import type { NewPlantDto } from './dto/plant.dto.js';
import { PlantsRepository } from './plants.repository.js';

@Injectable()
export class PlantsService {
  constructor(private readonly plants: PlantsRepository) {}

  /**
   * Creates a plant. Creating the same plant again succeeds and changes nothing, so a client may retry after a lost
   * answer.
   *
   * @returns the plant without its id, as it is published
   * @throws ServiceException `id-taken` when the id belongs to a plant with other content
   */
  async create(plant: NewPlantDto, origin: Origin): Promise<PlantDto> {
    return this.plants.represent(await this.plants.create(plant, { origin }), PlantDto);
  }
}
