import { Injectable } from '@nestjs/common';
import { isStatementTimeout } from '../database/database-failure.js';
import { Slots } from '../database/slots.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Precondition } from '../http/entity-tag.js';
import { toStoredPlantDto } from '../plants/dto/plant-to-dto.js';
import type { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
import type { Plant } from '../plants/plant.entity.js';
import { noSuchPlant, PlantsService } from '../plants/plants.service.js';
import { CatalogueRepository } from './catalogue.repository.js';
import type { FoundPlants } from './catalogue.repository.js';
import type { ListPlantsDto } from './dto/list-plants.dto.js';
import type { PlantFilterDto } from './dto/plant-filter.dto.js';
import type { PlantPatchDto } from './dto/plant-patch.dto.js';
import type { PlantReplacementDto } from './dto/plant-replacement.dto.js';

/** Most concurrent searches by name. A search can take seconds, and creates need the other connections. */
const MAX_SEARCHES = 3;

const TOO_SLOW =
  'the search takes too long: search for a longer or rarer text, or filter by tag as well';

/** How often a change with a precondition is tried while other requests change the plant. */
const MAX_ATTEMPTS = 5;

export interface Page {
  readonly plants: readonly StoredPlantDto[];
  /** The id after which the next page begins; `undefined` on the last page. */
  readonly next: bigint | undefined;
}

@Injectable()
export class CatalogueService {
  private readonly searches = new Slots(MAX_SEARCHES, 'too many searches are running');

  constructor(
    private readonly catalogue: CatalogueRepository,
    private readonly plants: PlantsService,
  ) {}

  /**
   * Lists plants in ascending order of their ids.
   *
   * @throws PlantStoreError `overloaded` if too many searches by name are running, `search-too-slow` at the statement timeout
   */
  async list({ limit, after, ...filter }: ListPlantsDto): Promise<Page> {
    const { plants, isWhole } = await this.find(filter, after, limit);
    return {
      plants: plants.map(toStoredPlantDto),
      next: isWhole ? undefined : plants.at(-1)?.id,
    };
  }

  private async find(
    filter: PlantFilterDto,
    after: bigint | undefined,
    limit: number,
  ): Promise<FoundPlants> {
    if (filter.name === undefined) return this.catalogue.find(filter, after, limit);
    const giveBack = this.searches.take();
    try {
      return await this.catalogue.find(filter, after, limit);
    } catch (error) {
      if (isStatementTimeout(error)) throw new PlantStoreError('search-too-slow', TOO_SLOW);
      throw error;
    } finally {
      giveBack();
    }
  }

  /**
   * Replaces the name and the tag of a plant.
   *
   * @throws PlantStoreError `no-such-plant`, `precondition-failed`, or `body-not-valid` if the body has another id
   */
  async replace(
    id: bigint,
    { id: bodyId, name, tag }: PlantReplacementDto,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    requireSameId(id, bodyId);
    return this.update(id, { name, tag: tag ?? null }, precondition);
  }

  /**
   * Changes the members that a JSON Merge Patch has (RFC 7396).
   *
   * @throws PlantStoreError like {@link replace}
   */
  async patch(
    id: bigint,
    { id: bodyId, name, tag }: PlantPatchDto,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    requireSameId(id, bodyId);
    const changes = { ...(name !== undefined && { name }), ...(tag !== undefined && { tag }) };
    return this.update(id, changes, precondition);
  }

  /** @throws PlantStoreError `no-such-plant`, `precondition-failed` */
  async remove(id: bigint, precondition?: Precondition): Promise<void> {
    await this.change(id, precondition, (expected) => this.catalogue.remove(id, expected));
  }

  private async update(
    id: bigint,
    changes: Partial<Pick<Plant, 'name' | 'tag'>>,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    return toStoredPlantDto(
      await this.change(id, precondition, (expected) =>
        this.catalogue.update(id, changes, expected),
      ),
    );
  }

  /**
   * Changes a plant. With a precondition, the statement changes the plant only if it still has the content for which the
   * precondition held. Of several concurrent changes with the same entity tag, exactly one succeeds.
   */
  private async change(
    id: bigint,
    precondition: Precondition | undefined,
    perform: (expected?: StoredPlantDto) => Promise<Plant | undefined>,
  ): Promise<Plant> {
    if (precondition === undefined) {
      const changed = await perform();
      if (changed === undefined) throw noSuchPlant(id);
      return changed;
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const expected = await this.plants.get(id);
      if (!precondition(expected)) throw new PlantStoreError('precondition-failed');
      const changed = await perform(expected);
      if (changed !== undefined) return changed;
      // Another request has changed or removed the plant since. The precondition may hold for the new content as well.
    }
    throw new PlantStoreError('overloaded', 'too many requests change this plant');
  }
}

function requireSameId(id: bigint, bodyId: bigint | undefined): void {
  if (bodyId === undefined || bodyId === id) return;
  throw new PlantStoreError('body-not-valid', `id must be the id in the path, ${id}`);
}
