import { Injectable } from '@nestjs/common';
import { ServiceException } from '../errors/service.exception.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import type { Page } from '../http/answers/page.js';
import type { Line } from '../http/body/body-lines.js';
import type { History } from '../resources/history/history.js';
import type { Origin } from '../resources/history/origin.js';
import { Resources } from '../resources/resources.js';
import type { Resource } from '../resources/resources.js';
import { PlantDto, StoredPlantDto } from './dto/plant.dto.js';
import type { NewPlantDto, PlantPatchDto, PlantReplacementDto } from './dto/plant.dto.js';
import type { ExportPlantsDto, ListPlantsDto } from './dto/list-plants.dto.js';
import { PlantChange } from './plant-change.entity.js';
import { Plant } from './plant.entity.js';
import { PLANT_ERRORS } from './plants.errors.js';
import { PLANT_FILTERS } from './plants.filters.js';

@Injectable()
export class PlantsService {
  readonly history: History;
  private readonly plants: Resource<Plant, StoredPlantDto, ListPlantsDto>;

  constructor(resources: Resources) {
    this.history = resources.historyOf(Plant, PlantChange, {
      member: 'plant',
      dto: StoredPlantDto,
    });
    this.plants = resources.of(Plant, {
      name: 'plants',
      history: this.history,
      dto: StoredPlantDto,
      filters: PLANT_FILTERS,
      idTaken: (id) =>
        new ServiceException(
          PLANT_ERRORS.idTaken,
          `id ${id} belongs to a plant with other content`,
        ),
      notFound: (id) =>
        new ServiceException(PLANT_ERRORS.noSuchPlant, `there is no plant with id ${id}`),
      search: { index: 'plants_name_search_idx', member: 'name' },
    });
  }

  /**
   * Creates a plant. Creating the same plant again succeeds and changes nothing, so a client may retry after a lost
   * answer.
   *
   * @throws ServiceException `id-taken` when the id belongs to a plant with other content
   */
  async create(plant: NewPlantDto, origin: Origin): Promise<PlantDto> {
    await this.plants.creates.create(plant, origin);
    return this.plants.represent(plant, PlantDto);
  }

  /** @throws ServiceException `no-such-plant` */
  async get(id: bigint): Promise<StoredPlantDto> {
    return this.plants.represent(await this.plants.lookups.find(id));
  }

  list(query: ListPlantsDto): Promise<Page<ListPlantsDto>> {
    return this.plants.pages.list(query);
  }

  /** @throws ServiceException `no-such-plant`, `precondition-failed`, or `body-not-valid` if the body has another id */
  async replace(
    id: bigint,
    plant: PlantReplacementDto,
    origin: Origin,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    return this.plants.represent(
      await this.plants.updates.replace(id, plant, precondition, { origin }),
    );
  }

  /** @throws ServiceException like {@link replace} */
  async patch(
    id: bigint,
    patch: PlantPatchDto,
    origin: Origin,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    return this.plants.represent(
      await this.plants.updates.patch(id, patch, precondition, { origin }),
    );
  }

  /** @throws ServiceException `no-such-plant`, `precondition-failed` */
  async remove(id: bigint, origin: Origin, precondition?: Precondition): Promise<void> {
    await this.plants.updates.remove(id, precondition, { origin });
  }

  /** Creates a plant for each line, and returns the lines of the answer. */
  import(
    lines: AsyncIterable<readonly Line[]>,
    signal: AbortSignal,
    origin: Origin,
  ): AsyncGenerator<string> {
    return this.plants.imports.run(lines, signal, origin);
  }

  /** Returns the plants that match as lines. */
  export(query: ExportPlantsDto, signal: AbortSignal): AsyncGenerator<string> {
    return this.plants.exports.run(query, signal);
  }
}
