import { Injectable } from '@nestjs/common';
import { ServiceException } from '../../src/errors/service.exception.js';
import type { Precondition } from '../../src/http/answers/entity-tag.js';
import type { Page } from '../../src/http/answers/page.js';
import type { Line } from '../../src/http/body/body-lines.js';
import { Resources } from '../../src/resources/resources.js';
import type { Resource } from '../../src/resources/resources.js';
import { StoredGardenDto } from './dto/garden.dto.js';
import type {
  ExportGardensDto,
  GardenPatchDto,
  GardenReplacementDto,
  ListGardensDto,
  NewGardenDto,
} from './dto/garden.dto.js';
import { Garden } from './garden.entity.js';
import { GARDEN_ERRORS } from './gardens.errors.js';
// #region plants
import type { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { PlantsService } from '../../src/plants/plants.service.js';
import { isEqual } from '../../src/resources/page-statement.js';
// #endregion

@Injectable()
export class GardensService {
  private readonly gardens: Resource<Garden, StoredGardenDto, ListGardensDto>;

  constructor(
    resources: Resources,
    // #region plants
    private readonly plants: PlantsService,
    // #endregion
  ) {
    this.gardens = resources.of<Garden, ListGardensDto>(Garden, {
      name: 'gardens',
      dto: StoredGardenDto,
      filters: {
        // #region plants
        plantId: isEqual('plant_id'),
        // #endregion
      },
      idTaken: (id) =>
        new ServiceException(
          GARDEN_ERRORS.gardenIdTaken,
          `id ${id} belongs to a garden with other content`,
        ),
      notFound: (id) =>
        new ServiceException(GARDEN_ERRORS.gardenNotFound, `there is no garden with id ${id}`),
      // #region plants
      constraints: { gardens_plant_id_fkey: GARDEN_ERRORS.gardenPlantNotFound },
      // #endregion
    });
  }

  /** @throws ServiceException `garden-id-taken` if the id belongs to a garden with other content */
  async create(garden: NewGardenDto): Promise<StoredGardenDto> {
    await this.gardens.creates.create(garden);
    return this.gardens.represent(garden);
  }

  /** @throws ServiceException `garden-not-found` */
  async get(id: bigint): Promise<StoredGardenDto> {
    return this.gardens.represent(await this.gardens.lookups.find(id));
  }

  // #region plants
  /** @throws ServiceException `garden-not-found`, `garden-has-no-plant` */
  async getPlant(id: bigint): Promise<StoredPlantDto> {
    const { plantId } = await this.get(id);
    if (plantId === undefined) throw new ServiceException(GARDEN_ERRORS.gardenHasNoPlant);
    return this.plants.get(plantId);
  }

  // #endregion
  list(query: ListGardensDto): Promise<Page<ListGardensDto>> {
    return this.gardens.pages.list(query);
  }

  /** @throws ServiceException `garden-not-found`, `precondition-failed`, `body-not-valid` if the body has another id */
  async replace(
    id: bigint,
    garden: GardenReplacementDto,
    precondition?: Precondition,
  ): Promise<StoredGardenDto> {
    return this.gardens.represent(await this.gardens.updates.replace(id, garden, precondition));
  }

  /** @throws ServiceException like {@link replace} */
  async patch(
    id: bigint,
    patch: GardenPatchDto,
    precondition?: Precondition,
  ): Promise<StoredGardenDto> {
    return this.gardens.represent(await this.gardens.updates.patch(id, patch, precondition));
  }

  /** @throws ServiceException `garden-not-found`, `precondition-failed` */
  async remove(id: bigint, precondition?: Precondition): Promise<void> {
    await this.gardens.updates.remove(id, precondition);
  }

  /** Creates a garden for each line, and returns the lines of the answer. */
  import(lines: AsyncIterable<readonly Line[]>, signal: AbortSignal): AsyncGenerator<string> {
    return this.gardens.imports.run(lines, signal);
  }

  /** Returns the gardens that match as lines. */
  export(query: ExportGardensDto, signal: AbortSignal): AsyncGenerator<string> {
    return this.gardens.exports.run(query, signal);
  }
}
