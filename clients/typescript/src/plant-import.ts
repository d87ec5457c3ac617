import { stringifyExactJson } from './exact-json.js';
import type { components } from './openapi.js';
import { PlantStoreError } from './plant-store-error.js';
import { chunksOf } from './streams.js';

export type NewPlant = components['schemas']['NewPlant'];

/** Plants to import. A stream is closed at the end. */
export type NewPlants = Iterable<NewPlant> | AsyncIterable<NewPlant> | ReadableStream<NewPlant>;

/** How many plants of an import the service created and refused. */
export interface ImportSummary {
  readonly created: number;
  /** Plants that were stored before, with the same content. */
  readonly unchanged: number;
  readonly refused: number;
}

/** A plant that the service refused, and why. */
export interface RefusedPlant {
  /** The position of the plant: the first plant of an import has 1. */
  readonly line: number;
  readonly plant: NewPlant;
  /** The error number, such as 40009. */
  readonly error: number;
  readonly message: string;
}

/** A line of the answer. A failure ends an import that cannot go on. */
type ImportLine = Omit<RefusedPlant, 'plant'> | components['schemas']['Error'] | ImportSummary;

/** Sends a body of newline-delimited JSON, and resolves with the answer and its text. */
export type SendPlants = (body: string) => Promise<{ response: Response; text: string }>;

/**
 * Most bytes of a request, unless a single plant has more. Browsers cannot stream the body of a request over HTTP/1.1,
 * and proxies often refuse bodies above 1 MB.
 */
const MAX_BYTES = 512 * 1024;

/**
 * Most plants of a request. The service answers while it reads, but over HTTP/1.1 browsers read only after they have sent
 * the whole request. Until then, the lines about refused plants must fit into the buffers of the connection.
 */
const MAX_PLANTS = 1_000;

/**
 * An import, which runs while you iterate over the refused plants or wait for the summary. When you leave the iteration
 * early, the import stops.
 */
export class PlantImport implements AsyncIterable<RefusedPlant> {
  readonly #refused: AsyncGenerator<RefusedPlant, void>;
  readonly #total = { created: 0, unchanged: 0, refused: 0 };
  #isComplete = false;

  /** @internal */
  constructor(plants: NewPlants, send: SendPlants) {
    this.#refused = this.#run(plants, send);
  }

  [Symbol.asyncIterator](): AsyncGenerator<RefusedPlant, void> {
    return this.#refused;
  }

  /** Runs the import to its end. Refused plants that you have not read are only counted. */
  async summary(): Promise<ImportSummary> {
    let next: IteratorResult<RefusedPlant, void>;
    do next = await this.#refused.next();
    while (next.done !== true);
    if (!this.#isComplete) throw new Error('the import was stopped before its end');
    return this.#total;
  }

  async *#run(plants: NewPlants, send: SendPlants): AsyncGenerator<RefusedPlant, void> {
    let sent = 0;
    for await (const batch of batchesOf(plants)) {
      const { response, text } = await send(batch.body);
      let summary: ImportSummary | undefined;
      for (const line of text.split('\n').filter((part) => part !== '')) {
        const answer = JSON.parse(line) as ImportLine;
        if ('line' in answer) {
          const plant = batch.plants[answer.line - 1] as NewPlant;
          yield { ...answer, line: sent + answer.line, plant };
        } else if ('error' in answer) {
          throw new PlantStoreError(response, answer);
        } else {
          summary = answer;
        }
      }
      if (summary === undefined) throw new Error('the answer to the import has no summary');
      this.#total.created += summary.created;
      this.#total.unchanged += summary.unchanged;
      this.#total.refused += summary.refused;
      sent += batch.plants.length;
    }
    this.#isComplete = true;
  }
}

interface Batch {
  readonly plants: readonly NewPlant[];
  /** A line of JSON for each plant. */
  readonly body: string;
}

async function* batchesOf(plants: NewPlants): AsyncGenerator<Batch, void> {
  const encoder = new TextEncoder();
  let batch: NewPlant[] = [];
  let body = '';
  let bytes = 0;
  for await (const plant of 'getReader' in plants ? chunksOf(plants) : plants) {
    const line = `${stringifyExactJson(plant)}\n`;
    const size = encoder.encode(line).length;
    const isFull = batch.length === MAX_PLANTS || bytes + size > MAX_BYTES;
    if (isFull && batch.length > 0) {
      yield { plants: batch, body };
      batch = [];
      body = '';
      bytes = 0;
    }
    batch.push(plant);
    body += line;
    bytes += size;
  }
  if (batch.length > 0) yield { plants: batch, body };
}
