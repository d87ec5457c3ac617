import { Injectable } from '@nestjs/common';
import { ConnectionShares } from '../database/connection-shares.js';
import type { Slots } from '../database/slots.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import { toStoredPlantDto } from '../plants/dto/plant-to-dto.js';
import { plantToJson } from '../plants/dto/plant-to-json.js';
import type { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
import { MAX_PLANT_ID, MIN_PLANT_ID } from '../plants/plant-id.js';
import type { Plant } from '../plants/plant.entity.js';
import { noSuchPlant } from '../plants/plants.service.js';
import { CatalogueRepository } from './catalogue.repository.js';
import type { FoundPlants } from './catalogue.repository.js';
import type { ListPlantsDto } from './dto/list-plants.dto.js';
import type { PlantPatchDto } from './dto/plant-patch.dto.js';
import type { PlantReplacementDto } from './dto/plant-replacement.dto.js';
import { GroupPages } from './group-pages.js';
import { isLong } from './page-statement.js';
import type { PageQuery } from './page-statement.js';

const TOO_SLOW =
  'the search takes too long: search for a longer or rarer text, or filter by tag as well';

/** A database that reads the first plant in so many milliseconds is not to blame for a slow search. */
const RESPONSIVE = 250;

/** Most bytes of a page, unless its first plant has more. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

export interface Page {
  /** Each as JSON. */
  readonly plants: readonly string[];
  /** The id after which the next page begins; `undefined` on the last page. */
  readonly next: bigint | undefined;
}

/** Who asks for a page. */
interface Reader {
  readonly slots: Slots;
  readonly maxBytes: number;
}

@Injectable()
export class CatalogueService {
  private readonly listing: Reader;

  constructor(
    private readonly catalogue: CatalogueRepository,
    private readonly groups: GroupPages,
    private readonly shares: ConnectionShares,
  ) {
    this.listing = { slots: shares.lists, maxBytes: MAX_PAGE_BYTES };
  }

  /**
   * Lists plants in ascending order of their ids. A page can be shorter than `limit` and not be the last.
   *
   * @throws PlantStoreError `too-many-lists`, or `too-many-searches` with a filter by name; `search-too-slow`
   */
  async list(
    { limit, after, tag, name }: ListPlantsDto,
    { slots, maxBytes }: Reader = this.listing,
  ): Promise<Page> {
    const query = { limit, after, tag, name, maxBytes };
    const { rows, isWhole } =
      name === undefined
        ? ((await this.findInGroup(query)) ?? (await slots.run(() => this.catalogue.find(query))))
        : await this.shares.searches.run(() => this.search(query));
    const plants: string[] = [];
    let length = 0;
    for (const row of rows) {
      // JSON has up to six characters for a byte of text.
      if (length > maxBytes) break;
      const plant = plantToJson(row);
      length += plant.length;
      plants.push(plant);
    }
    const isLast = isWhole && plants.length === rows.length;
    return { plants, next: isLast ? undefined : BigInt(rows[plants.length - 1]![0]) };
  }

  /** A page together with other pages; `undefined` if it has a filter, a rare size or long plants. */
  private async findInGroup({ limit, after, tag }: PageQuery): Promise<FoundPlants | undefined> {
    if (tag !== undefined || after === MAX_PLANT_ID || !this.groups.has(limit)) return undefined;
    const rows = await this.groups.read(after === undefined ? MIN_PLANT_ID : after + 1n, limit);
    if (rows.some(isLong)) return undefined;
    return { rows: rows.slice(0, limit), isWhole: rows.length <= limit };
  }

  private async search(query: PageQuery): Promise<FoundPlants> {
    try {
      return await this.catalogue.find(query);
    } catch (error) {
      if (isTooSlow(error) && (await this.isResponsive())) {
        throw new PlantStoreError(ERRORS.searchTooSlow, TOO_SLOW);
      }
      throw error;
    }
  }

  private async isResponsive(): Promise<boolean> {
    const start = performance.now();
    await this.catalogue.find({ limit: 1, maxBytes: 1 });
    return performance.now() - start < RESPONSIVE;
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
    await this.change(id, (check) => this.catalogue.remove(id, check), precondition);
  }

  private async update(
    id: bigint,
    changes: Partial<Pick<Plant, 'name' | 'tag'>>,
    precondition?: Precondition,
  ): Promise<StoredPlantDto> {
    return toStoredPlantDto(
      await this.change(id, (check) => this.catalogue.update(id, changes, check), precondition),
    );
  }

  /** Changes a plant, with a precondition while no one else can change it. */
  private async change(
    id: bigint,
    perform: (check?: (plant: Plant) => void) => Promise<Plant | undefined>,
    precondition: Precondition | undefined,
  ): Promise<Plant> {
    const check =
      precondition &&
      ((plant: Plant) => {
        if (!precondition(toStoredPlantDto(plant))) {
          throw new PlantStoreError(ERRORS.preconditionFailed);
        }
      });
    const changed = await this.shares.changes.run(() => perform(check));
    if (changed === undefined) throw noSuchPlant(id);
    return changed;
  }
}

function isTooSlow(error: unknown): boolean {
  return error instanceof PlantStoreError && error.code === 'database-too-slow';
}

function requireSameId(id: bigint, bodyId: bigint | undefined): void {
  if (bodyId === undefined || bodyId === id) return;
  throw new PlantStoreError(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
}
