import { Inject, Injectable } from '@nestjs/common';
import { ERRORS } from '../errors/common-errors.js';
import { Batcher } from '../database/batcher.js';
import { Slots } from '../database/slots.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { Plant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';

/** Most plants of a statement. */
const MAX_PLANTS = 32;

/** Most bytes of the name and the tag of a plant in a group. All plants of a group are in memory at once. */
const MAX_BYTES = (4 * 1024 * 1024) / MAX_PLANTS;

/** Most plants that are read alone at once. */
const LONG_PLANTS = 2;

/** Looks up the plants of many requests in one statement. */
@Injectable()
export class GroupLookup {
  private readonly batcher: Batcher<bigint, Plant | 'long' | undefined>;
  private readonly slots = new Slots(LONG_PLANTS, ERRORS.tooManyAnswers);

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

  /** @throws PlantStoreError `too-many-answers`, or as after any failure of the database */
  async find(id: bigint): Promise<Plant | undefined> {
    const found = await this.batcher.add(id);
    if (found !== 'long') return found;
    return (await this.slots.run(() => this.plants.findById(id))) ?? undefined;
  }

  private async perform(ids: readonly bigint[]): Promise<(Plant | 'long' | undefined)[]> {
    const { plants, long } = await this.plants.findByIds([...new Set(ids)], MAX_BYTES);
    const found = new Map<bigint, Plant | 'long'>(plants.map((plant) => [plant.id, plant]));
    for (const id of long) found.set(id, 'long');
    return ids.map((id) => found.get(id));
  }
}
