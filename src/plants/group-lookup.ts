import { Inject, Injectable } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { Plant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';

/** Most plants of a statement. A plant can be as long as a body, and all plants of a group are in memory at once. */
const MAX_PLANTS = 32;

/** Looks up the plants of many requests in one statement. */
@Injectable()
export class GroupLookup {
  private readonly batcher: Batcher<bigint, Plant | undefined>;

  constructor(
    private readonly plants: PlantsRepository,
    @Inject(TRACER) tracer: Tracer,
  ) {
    this.batcher = new Batcher({
      lengthOf: () => 0,
      maxRows: MAX_PLANTS,
      perform: (ids) => this.perform(ids),
      tracer,
    });
  }

  /** @throws PlantStoreError `overloaded`, `database-unavailable` */
  find(id: bigint): Promise<Plant | undefined> {
    return this.batcher.add(id);
  }

  private async perform(ids: readonly bigint[]): Promise<(Plant | undefined)[]> {
    const plants = await this.plants.findByIds([...new Set(ids)]);
    const found = new Map(plants.map((plant) => [plant.id, plant]));
    return ids.map((id) => found.get(id));
  }
}
