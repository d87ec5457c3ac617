import createClient from 'openapi-fetch';
import type { Client } from 'openapi-fetch';
import { parseExactJson, stringifyExactJson } from './exact-json.js';
import { IncompleteExportError } from './incomplete-export-error.js';
import type { components, paths } from './openapi.js';
import { PlantImport } from './plant-import.js';
import type { NewPlant, NewPlants } from './plant-import.js';
import { PlantStoreError } from './plant-store-error.js';
import { linesOf } from './streams.js';

export type {
  ImportSummary,
  NewPlant,
  NewPlants,
  PlantImport,
  RefusedPlant,
} from './plant-import.js';
export { IncompleteExportError, PlantStoreError };

export type Plant = components['schemas']['Plant'];
export type StoredPlant = components['schemas']['StoredPlant'];
export type PlantReplacement = components['schemas']['PlantReplacement'];
export type PlantPatch = components['schemas']['PlantPatch'];

/** Which plants to list. */
export type ListQuery = NonNullable<paths['/plants']['get']['parameters']['query']>;
/** Which plants to export. */
export type ExportQuery = NonNullable<paths['/plants/export']['get']['parameters']['query']>;

/** A plant and the entity tag of its content, for `ifMatch`. */
export type TaggedPlant = StoredPlant & {
  /** `undefined` if a proxy removed the header field. */
  readonly etag: string | undefined;
};

export interface Page {
  /** In ascending order of their ids. */
  readonly plants: readonly StoredPlant[];
  /** Requests the next page. `undefined` on the last page. */
  readonly next: (() => Promise<Page>) | undefined;
}

export interface PlantStoreOptions {
  /** The address of the service with its base path, such as `https://plants.example.com/api`. */
  readonly url: string;
  /** The bearer token, or a function that each request calls for it. */
  readonly token: string | (() => string | Promise<string>);
  /** Sends a request; by default the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | null;
}

export interface ChangeOptions extends RequestOptions {
  /** Changes the plant only if it still has this entity tag. Otherwise, the change fails with the error 41200. */
  readonly ifMatch?: string;
}

/**
 * A plant store. Each failure that the service answers with is a {@link PlantStoreError}; if there is no answer, the
 * error is from `fetch`.
 */
export class PlantStore {
  readonly #client: Client<paths>;

  constructor({ url, token, fetch }: PlantStoreOptions) {
    this.#client = createClient<paths>({
      baseUrl: url,
      bodySerializer: stringifyExactJson,
      ...(fetch !== undefined && { fetch }),
    });
    this.#client.use({
      onRequest: async ({ request }) => {
        const credentials = typeof token === 'string' ? token : await token();
        request.headers.set('Authorization', `Bearer ${credentials}`);
      },
    });
  }

  /** Creates a plant. An identical plant that is stored already is no failure. */
  async create(plant: NewPlant, { signal = null }: RequestOptions = {}): Promise<Plant> {
    const answer = await this.#client.POST('/plants', { body: plant, parseAs: 'text', signal });
    return parseExactJson(textOf(answer)) as Plant;
  }

  async get(id: bigint, { signal = null }: RequestOptions = {}): Promise<TaggedPlant> {
    const params = { path: { id } };
    return taggedPlantOf(
      await this.#client.GET('/plants/{id}', { params, parseAs: 'text', signal }),
    );
  }

  /** Requests one page of plants. */
  list({ signal = null, ...query }: ListQuery & RequestOptions = {}): Promise<Page> {
    return this.#page({ params: { query }, signal });
  }

  async #page(request: PageRequest): Promise<Page> {
    const answer = await this.#client.GET('/plants', { ...request, parseAs: 'text' });
    const plants = parseExactJson(textOf(answer)) as StoredPlant[];
    const link = answer.response.headers.get('Link') ?? '';
    const [, query] = /<[^>?]*\?([^>]*)>; *rel="next"/.exec(link) ?? [];
    if (query === undefined) return { plants, next: undefined };
    // Only the query: behind a proxy that changes paths, the path of the link can be wrong.
    return {
      plants,
      next: () => this.#page({ signal: request.signal, querySerializer: () => query }),
    };
  }

  /** Iterates over all plants, page by page. */
  async *plants(query: ListQuery & RequestOptions = {}): AsyncGenerator<StoredPlant, void> {
    for (let page: Page | undefined = await this.list(query); page; page = await page.next?.()) {
      yield* page.plants;
    }
  }

  /** Replaces the name and the tag of a plant. The answer has no entity tag (RFC 9110, section 9.3.4). */
  async replace(
    id: bigint,
    plant: PlantReplacement,
    options: ChangeOptions = {},
  ): Promise<StoredPlant> {
    const change = changeOf(id, options);
    return parseExactJson(
      textOf(await this.#client.PUT('/plants/{id}', { ...change, body: plant, parseAs: 'text' })),
    ) as StoredPlant;
  }

  /** Changes the members that the patch has. `tag: null` removes the tag. */
  async patch(id: bigint, patch: PlantPatch, options: ChangeOptions = {}): Promise<TaggedPlant> {
    const change = changeOf(id, options);
    return taggedPlantOf(
      await this.#client.PATCH('/plants/{id}', { ...change, body: patch, parseAs: 'text' }),
    );
  }

  async remove(id: bigint, options: ChangeOptions = {}): Promise<void> {
    dataOf(await this.#client.DELETE('/plants/{id}', changeOf(id, options)));
  }

  /** Imports plants in requests of bounded size, one after the other. */
  import(plants: NewPlants, { signal = null }: RequestOptions = {}): PlantImport {
    return new PlantImport(plants, async (body) => {
      const answer = await this.#client.POST('/plants/import', {
        body,
        bodySerializer: (lines) => lines,
        headers: { 'Content-Type': 'application/x-ndjson' },
        parseAs: 'text',
        signal,
      });
      return { response: answer.response, text: textOf(answer) };
    });
  }

  /**
   * Iterates over all plants in ascending order of their ids, in one request. If the answer ends early without a
   * failure of `fetch`, the error is an {@link IncompleteExportError}.
   */
  async *export(options: ExportQuery & RequestOptions = {}): AsyncGenerator<StoredPlant, void> {
    const { signal = null, ...query } = options;
    const params = { query };
    const body = dataOf(
      await this.#client.GET('/plants/export', { params, parseAs: 'stream', signal }),
    );
    let last = query.after;
    let isComplete = false;
    // `fetch` has no body for an answer without content.
    for await (const line of body ? linesOf(body) : []) {
      isComplete = line === '';
      if (isComplete) continue;
      const plant = parseExactJson(line) as StoredPlant;
      yield plant;
      last = plant.id;
    }
    if (!isComplete) throw new IncompleteExportError(last);
  }
}

interface PageRequest {
  readonly signal: AbortSignal | null;
  readonly params?: { readonly query: ListQuery };
  readonly querySerializer?: () => string;
}

interface Answer<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

function dataOf<Data>({ data, error, response }: Answer<Data>): Data | undefined {
  if (!response.ok) throw new PlantStoreError(response, error);
  return data;
}

function textOf(answer: Answer<string>): string {
  return dataOf(answer) ?? '';
}

function taggedPlantOf(answer: Answer<string>): TaggedPlant {
  const plant = parseExactJson(textOf(answer)) as StoredPlant;
  return { ...plant, etag: answer.response.headers.get('ETag') ?? undefined };
}

function changeOf(id: bigint, options: ChangeOptions) {
  const { signal = null, ifMatch } = options;
  // Otherwise, a missing ETag would turn into a change without a precondition.
  if ('ifMatch' in options && ifMatch === undefined) throw new TypeError('ifMatch is undefined');
  const header = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
  return { params: { path: { id }, header }, signal };
}
