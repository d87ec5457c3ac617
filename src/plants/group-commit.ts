import { Inject, Injectable } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { Metrics } from '../observability/metrics.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { Plant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';
import type { Stored } from './plants.repository.js';

/** `taken`: the id belongs to a plant with other content. */
export type Creation = Stored | 'taken';

/** How often other requests may change and remove the plants that a group is compared with. */
const MAX_ROUNDS = 8;

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
      perform: (group, isRetry) => this.perform(group, isRetry),
      tracer,
    });
    metrics.observeCreationQueue(() => this.batcher.queue);
  }

  /**
   * Resolves when the plant, or a plant with other content, is committed.
   *
   * @throws PlantStoreError as after any failure of the database. The plant may have been stored
   */
  create(plant: Plant): Promise<Creation> {
    return this.batcher.add(plant);
  }

  private async perform(group: readonly Plant[], isRetry: boolean): Promise<Creation[]> {
    this.metrics.recordGroup(group.length);
    const creations = new Map<Plant, Creation>();
    let open = group;
    for (let round = 0; open.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new PlantStoreError(ERRORS.overloaded);
      // Of several plants with one id, only the first can be created in a statement.
      const sent = new Map<bigint, Plant>();
      for (const plant of round === 0 ? open : await this.plants.findCreatable(open)) {
        if (!sent.has(plant.id)) sent.set(plant.id, plant);
      }
      const stored = await this.plants.create([...sent.values()], isRetry);
      open = open.filter((plant) => {
        const creation = creationOf(plant, sent.get(plant.id), stored.get(plant.id));
        if (creation !== undefined) creations.set(plant, creation);
        return creation === undefined;
      });
    }
    return group.map((plant) => creations.get(plant)!);
  }
}

/**
 * @param sent the plant with this id that was sent; `undefined` if the id belongs to a plant with other content
 * @param stored what became of it; `undefined` if it was refused
 * @returns `undefined` if the plant may equal the stored plant that the sent plant was refused for
 */
function creationOf(
  plant: Plant,
  sent: Plant | undefined,
  stored: Stored | undefined,
): Creation | undefined {
  if (sent === undefined) return 'taken';
  if (plant === sent) return stored ?? 'taken';
  if (isSame(plant, sent)) return stored === undefined ? 'taken' : 'unchanged';
  return stored === undefined ? undefined : 'taken';
}

function isSame(one: Plant, other: Plant): boolean {
  return one.name === other.name && one.tag === other.tag;
}
