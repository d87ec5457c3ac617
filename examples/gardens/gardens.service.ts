import { Injectable } from '@nestjs/common';
import type { BodyLine, Page, UpdateContext } from '@resource-service/framework';
import type {
  ExportGardensDto,
  GardenPatchDto,
  GardenReplacementDto,
  ListGardensDto,
  NewGardenDto,
  StoredGardenDto,
} from './dto/garden.dto.js';
import { GardensRepository } from './gardens.repository.js';
// #region plants
import { ServiceException } from '@resource-service/framework';
import type { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { PlantsRepository } from '../../src/plants/plants.repository.js';
import { GARDEN_ERRORS } from './gardens.errors.js';
// #endregion

@Injectable()
export class GardensService {
  constructor(
    private readonly gardens: GardensRepository,
    // #region plants
    private readonly plants: PlantsRepository,
    // #endregion
  ) {}

  /** @throws ServiceException `garden-id-taken` when the id belongs to a garden with other content */
  create(garden: NewGardenDto): Promise<StoredGardenDto> {
    return this.gardens.create(garden);
  }

  list(query: ListGardensDto): Promise<Page<ListGardensDto>> {
    return this.gardens.list(query);
  }

  /** @throws ServiceException `garden-not-found` */
  find(id: bigint): Promise<StoredGardenDto> {
    return this.gardens.find(id);
  }

  // #region plants
  /** @throws ServiceException `garden-not-found`, `garden-has-no-plant` */
  async findPlant(id: bigint): Promise<StoredPlantDto> {
    const { plantId } = await this.gardens.find(id);
    if (plantId === undefined) throw new ServiceException(GARDEN_ERRORS.gardenHasNoPlant);
    return this.plants.find(plantId);
  }

  // #endregion
  /** @throws ServiceException `garden-not-found`, `precondition-failed` */
  replace(
    id: bigint,
    garden: GardenReplacementDto,
    context: UpdateContext,
  ): Promise<StoredGardenDto> {
    return this.gardens.replace(id, garden, context);
  }

  /** @throws ServiceException `garden-not-found`, `precondition-failed` */
  patch(id: bigint, patch: GardenPatchDto, context: UpdateContext): Promise<StoredGardenDto> {
    return this.gardens.patch(id, patch, context);
  }

  /** @throws ServiceException `garden-not-found`, `precondition-failed` */
  remove(id: bigint, context: UpdateContext): Promise<void> {
    return this.gardens.remove(id, context);
  }

  /** Creates a garden for each line, and returns the lines of the response. */
  import(lines: AsyncIterable<readonly BodyLine[]>, signal: AbortSignal): AsyncGenerator<string> {
    return this.gardens.import(lines, signal);
  }

  /** Returns the gardens that match as lines. */
  export(query: ExportGardensDto, signal: AbortSignal): AsyncGenerator<string> {
    return this.gardens.export(query, signal);
  }
}
