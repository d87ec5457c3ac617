import type { components } from './openapi.js';
import type { ImportSummary, Records, Refusal, ResourceImport } from './resource-import.js';

export type NewPlant = components['schemas']['NewPlant'];

/** Plants to import. A stream is closed at the end. */
export type NewPlants = Records<NewPlant>;

/** A plant that the service refused, and why. */
export interface RefusedPlant extends Refusal {
  readonly plant: NewPlant;
}

/**
 * An import, which runs while you iterate over the refused plants or wait for the summary. When you leave the iteration
 * early, the import stops.
 */
export class PlantImport implements AsyncIterable<RefusedPlant> {
  readonly #import: ResourceImport<NewPlant>;

  /** @internal */
  constructor(running: ResourceImport<NewPlant>) {
    this.#import = running;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RefusedPlant, void> {
    for await (const { record, ...refusal } of this.#import) yield { ...refusal, plant: record };
  }

  /** Runs the import to its end. Refused plants that you have not read are only counted. */
  summary(): Promise<ImportSummary> {
    return this.#import.summary();
  }
}
