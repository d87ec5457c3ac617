import { Inject, Injectable } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import { Metrics } from '../observability/metrics.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { Plant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';

/** What became of a plant that was to be created: stored, now or before, or kept out by a plant with other content. */
export type Creation = 'stored' | 'taken';

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
   * Resolves when the plant is committed, or kept out by a committed one.
   *
   * @throws PlantStoreError `overloaded`, `database-unavailable`; the plant may be stored even so
   */
  create(plant: Plant): Promise<Creation> {
    return this.batcher.add(plant);
  }

  private async perform(group: readonly Plant[]): Promise<Creation[]> {
    this.metrics.recordGroup(group.length);
    // Of equal ids in the group the first one is sent.
    const sent = new Map<bigint, Plant>();
    for (const plant of group) if (!sent.has(plant.id)) sent.set(plant.id, plant);
    const stored = await this.plants.create([...sent.values()]);
    const isAsSent = (plant: Plant) => isSame(plant, sent.get(plant.id)!);
    // What kept the first one out may be the same as another one.
    const others = group.filter((plant) => !stored.has(plant.id) && !isAsSent(plant));
    const found = new Set(others.length === 0 ? [] : await this.plants.findStored(others));
    return group.map((plant) =>
      (stored.has(plant.id) ? isAsSent(plant) : found.has(plant)) ? 'stored' : 'taken',
    );
  }
}

function isSame(one: Plant, other: Plant): boolean {
  return one.name === other.name && one.tag === other.tag;
}
