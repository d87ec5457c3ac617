import { Injectable } from '@nestjs/common';
import { ServiceException } from '@resource-service/framework';
import type { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { PlantsRepository } from '../../src/plants/plants.repository.js';
import { GARDEN_ERRORS } from './gardens.errors.js';
import { GardensRepository } from './gardens.repository.js';

@Injectable()
export class GardensService {
  constructor(
    private readonly gardens: GardensRepository,
    private readonly plants: PlantsRepository,
  ) {}

  /** @throws ServiceException `garden-not-found`, `garden-has-no-plant` */
  async getPlant(id: bigint): Promise<StoredPlantDto> {
    const { plantId } = await this.gardens.find(id);
    if (plantId === undefined) throw new ServiceException(GARDEN_ERRORS.gardenHasNoPlant);
    return this.plants.find(plantId);
  }
}
