import { Inject, Injectable } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import { Metrics } from '../observability/metrics.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { Plant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';
import type { Stored } from './plants.repository.js';

/** `taken`: the id belongs to a plant with other content. */
export type Creation = Stored | 'taken';

/** Creates the plants of many requests in one transaction. */
@Injectable()
export class GroupCommit {
  private readonly batcher: Batcher<Plant, Creation>;

  constructor(
    private readonly plants: PlantsRepository,
    private readonly metrics: Metrics,
    @Inject(TRACER) tracer: Tracer,
  ) {
    this.batcher = new Batcher({
      lengthOf: ({ name, tag }) => name.length + (tag?.length ?? 0),
      perform: (group) => this.perform(group),
      tracer,
    });
    metrics.observeCreationQueue(() => this.batcher.queue);
  }

  /**
   * Resolves when the plant, or a plant with other content, is committed.
   *
   * @throws PlantStoreError `overloaded`, `database-unavailable`. The plant may have been stored
   */
  create(plant: Plant): Promise<Creation> {
    return this.batcher.add(plant);
  }

  private async perform(group: readonly Plant[]): Promise<Creation[]> {
    this.metrics.recordGroup(group.length);
    // If an id occurs several times in the group, only the first plant is sent.
    const sent = new Map<bigint, Plant>();
    for (const plant of group) if (!sent.has(plant.id)) sent.set(plant.id, plant);
    const stored = await this.plants.create([...sent.values()]);
    const isAsSent = (plant: Plant) => isSame(plant, sent.get(plant.id)!);
    // If the first plant was refused, the stored plant may still equal another plant of the group.
    const others = group.filter((plant) => !stored.has(plant.id) && !isAsSent(plant));
    const found = new Set(others.length === 0 ? [] : await this.plants.findStored(others));
    return group.map((plant) => {
      const creation = stored.get(plant.id);
      if (creation === undefined) return found.has(plant) ? 'unchanged' : 'taken';
      if (plant === sent.get(plant.id)) return creation;
      return isAsSent(plant) ? 'unchanged' : 'taken';
    });
  }
}

function isSame(one: Plant, other: Plant): boolean {
  return one.name === other.name && one.tag === other.tag;
}
