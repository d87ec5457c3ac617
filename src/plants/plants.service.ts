import { Injectable } from '@nestjs/common';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import type { Page } from '../http/answers/page.js';
import type { Line } from '../http/body/body-lines.js';
import { Resources } from '../resources/resources.js';
import type { Resource } from '../resources/resources.js';
import { PlantDto, StoredPlantDto } from './dto/plant.dto.js';
import type { NewPlantDto, PlantPatchDto, PlantReplacementDto } from './dto/plant.dto.js';
import type { ExportPlantsDto, ListPlantsDto } from './dto/list-plants.dto.js';
import { NameIndexCleaner } from './name-index-cleaner.js';
import { Plant } from './plant.entity.js';
import { PLANT_ERRORS } from './plants.errors.js';
import { PLANT_FILTERS } from './plants.filters.js';

@Injectable()
export class PlantsService {
  private readonly plants: Resource<Plant, StoredPlantDto, ListPlantsDto>;

  constructor(
    resources: Resources,
    private readonly nameIndex: NameIndexCleaner,
  ) {
    this.plants = resources.of(Plant, {
      name: 'plants',
      dto: StoredPlantDto,
      filters: PLANT_FILTERS,
      idTaken: (id) =>
        new PlantStoreError(PLANT_ERRORS.idTaken, `id ${id} belongs to a plant with other content`),
      notFound: (id) =>
        new PlantStoreError(PLANT_ERRORS.noSuchPlant, `there is no plant with id ${id}`),
      onCreated: (created) => nameIndex.noteNames(created.map(({ name }) => name)),
    });
  }

  /**
   * Creates a plant. Creating the same plant again succeeds and changes nothing, so a client may retry after a lost
   * answer.
   *
   * @throws PlantStoreError `id-taken` when the id belongs to a plant with other content
   */
  async create(plant: NewPlantDto): Promise<PlantDto> {
    await this.plants.creates.create(plant);
    return this.plants.represent(plant, PlantDto);
  }

  /** @throws PlantStoreError `no-such-plant` */
  async get(id: bigint): Promise<StoredPlantDto> {
    return this.plants.represent(await this.plants.lookups.find(id));
  }

  list(query: ListPlantsDto): Promise<Page<ListPlantsDto>> {
    return this.plants.pages.list(query);
  }

  /** @throws PlantStoreError `no-such-plant`, `precondition-failed`, or `body-not-valid` if the body has another id */
  async replace(
    id: bigint,
    plant: PlantReplacementDto,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    const replaced = this.plants.represent(
      await this.plants.changes.replace(id, plant, precondition),
    );
    this.nameIndex.noteNames([plant.name]);
    return replaced;
  }

  /** @throws PlantStoreError like {@link replace} */
  async patch(
    id: bigint,
    patch: PlantPatchDto,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    const patched = this.plants.represent(await this.plants.changes.patch(id, patch, precondition));
    if (patch.name !== undefined) this.nameIndex.noteNames([patch.name]);
    return patched;
  }

  /** @throws PlantStoreError `no-such-plant`, `precondition-failed` */
  async remove(id: bigint, precondition?: Precondition): Promise<void> {
    await this.plants.changes.remove(id, precondition);
  }

  /** Creates a plant for each line, and returns the lines of the answer. */
  import(lines: AsyncIterable<readonly Line[]>, clientGone: AbortSignal): AsyncGenerator<string> {
    return this.plants.imports.run(lines, clientGone);
  }

  /** Returns the plants that match as lines. */
  export(query: ExportPlantsDto, clientGone: AbortSignal): AsyncGenerator<string> {
    return this.plants.exports.run(query, clientGone);
  }
}
