import { Injectable } from '@nestjs/common';
import type { Actor, BodyLine, Page, UpdateContext } from '@resource-service/framework';
import type { ExportPlantsDto, ListPlantsDto } from './dto/list-plants.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import type {
  NewPlantDto,
  PlantPatchDto,
  PlantReplacementDto,
  StoredPlantDto,
} from './dto/plant.dto.js';
import { PlantsRepository } from './plants.repository.js';

@Injectable()
export class PlantsService {
  constructor(private readonly plants: PlantsRepository) {}

  /**
   * Creates a plant. Creating the same plant again succeeds and changes nothing, so a client may retry after a lost
   * response.
   *
   * @returns the plant without its id, as it is published
   * @throws ServiceException `id-taken` when the id belongs to a plant with other content
   */
  async create(plant: NewPlantDto, actor: Actor): Promise<PlantDto> {
    return this.plants.represent(await this.plants.create(plant, { actor }), PlantDto);
  }

  list(query: ListPlantsDto): Promise<Page<ListPlantsDto>> {
    return this.plants.list(query);
  }

  /** @throws ServiceException `no-such-plant` */
  find(id: bigint): Promise<StoredPlantDto> {
    return this.plants.find(id);
  }

  /** @throws ServiceException `no-such-plant`, `precondition-failed` */
  replace(id: bigint, plant: PlantReplacementDto, context: UpdateContext): Promise<StoredPlantDto> {
    return this.plants.replace(id, plant, context);
  }

  /** @throws ServiceException `no-such-plant`, `precondition-failed` */
  patch(id: bigint, patch: PlantPatchDto, context: UpdateContext): Promise<StoredPlantDto> {
    return this.plants.patch(id, patch, context);
  }

  /** @throws ServiceException `no-such-plant`, `precondition-failed` */
  remove(id: bigint, context: UpdateContext): Promise<void> {
    return this.plants.remove(id, context);
  }

  /** Creates a plant for each line, and returns the lines of the response. */
  import(
    lines: AsyncIterable<readonly BodyLine[]>,
    signal: AbortSignal,
    actor: Actor,
  ): AsyncGenerator<string> {
    return this.plants.import(lines, signal, actor);
  }

  /** Returns the plants that match as lines. */
  export(query: ExportPlantsDto, signal: AbortSignal): AsyncGenerator<string> {
    return this.plants.export(query, signal);
  }
}
