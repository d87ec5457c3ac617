import { Changes } from './changes.js';
import type { ChangesQuery, FollowQuery, PlantChange } from './changes.js';
import type { PlantStoreOptions } from './connection.js';
import { ERRORS } from './errors.js';
import { parseJson, toJson } from './exact-json.js';
import { IncompleteExportError } from './incomplete-export-error.js';
import { INT64_MEMBERS } from './openapi.js';
import type { components, paths } from './openapi.js';
import type { RequestOptions, ResourcePage } from './pages.js';
import { PlantImport } from './plant-import.js';
import type { NewPlant, NewPlants } from './plant-import.js';
import { PlantStoreError } from './plant-store-error.js';
import { Resource } from './resource.js';
import type { ChangeOptions, Tagged } from './resource.js';
import type { ResourceOf } from './resource-types.js';

export type { ChangesQuery, FollowQuery, PlantChange } from './changes.js';
export type { PlantStoreOptions } from './connection.js';
export type { ErrorCode } from './plant-store-error.js';
export type { NewPlant, NewPlants, PlantImport, RefusedPlant } from './plant-import.js';
export type { ImportSummary, RefusedRecord, ResourceImport } from './resource-import.js';
export type { RequestOptions, ResourcePage } from './pages.js';
export type { ChangeOptions } from './resource.js';
export type { ResourceOf } from './resource-types.js';
export type { paths } from './openapi.js';
export {
  ERRORS,
  IncompleteExportError,
  INT64_MEMBERS,
  parseJson,
  PlantStoreError,
  Resource,
  toJson,
};

export type Plant = components['schemas']['Plant'];
export type StoredPlant = components['schemas']['StoredPlant'];
export type PlantReplacement = components['schemas']['PlantReplacement'];
export type PlantPatch = components['schemas']['PlantPatch'];

/** Which plants to list. */
export type ListQuery = NonNullable<paths['/plants']['get']['parameters']['query']>;
/** Which plants to export. */
export type ExportQuery = NonNullable<paths['/plants/export']['get']['parameters']['query']>;

/** A plant and the entity tag of its content, for `ifMatch`. */
export type TaggedPlant = Tagged<StoredPlant>;

export interface Page {
  /** In ascending order of their ids. */
  readonly plants: readonly StoredPlant[];
  /** Requests the next page. `undefined` on the last page. */
  readonly next: (() => Promise<Page>) | undefined;
}

/**
 * A plant store. Each failure that the service answers with is a {@link PlantStoreError}; if there is no answer, the
 * error is from `fetch`. Requests that fail temporarily are repeated first.
 */
export class PlantStore {
  readonly #plants: Resource<ResourceOf<paths, 'plants'>>;
  readonly #changes: Changes;

  /** @throws TypeError if an option is wrong */
  constructor(options: PlantStoreOptions) {
    this.#plants = new Resource('plants', INT64_MEMBERS.plants, options);
    this.#changes = new Changes(options);
  }

  /** Creates a plant. An identical plant that is stored already is no failure. */
  create(plant: NewPlant, options?: RequestOptions): Promise<Plant> {
    return this.#plants.create(plant, options);
  }

  get(id: bigint, options?: RequestOptions): Promise<TaggedPlant> {
    return this.#plants.get(id, options);
  }

  /** Requests one page of plants. */
  async list(query?: ListQuery & RequestOptions): Promise<Page> {
    return pageOf(await this.#plants.list(query));
  }

  /** Iterates over all plants, page by page. */
  plants(query?: ListQuery & RequestOptions): AsyncGenerator<StoredPlant, void> {
    return this.#plants.all(query);
  }

  /** Replaces the name and the tag of a plant. The answer has no entity tag (RFC 9110, section 9.3.4). */
  replace(id: bigint, plant: PlantReplacement, options?: ChangeOptions): Promise<StoredPlant> {
    return this.#plants.replace(id, plant, options);
  }

  /** Changes the members that the patch has. `tag: null` removes the tag. */
  patch(id: bigint, patch: PlantPatch, options?: ChangeOptions): Promise<TaggedPlant> {
    return this.#plants.patch(id, patch, options);
  }

  /** If an attempt got no answer, and another one finds no plant, the first one has removed it. */
  remove(id: bigint, options?: ChangeOptions): Promise<void> {
    return this.#plants.remove(id, options);
  }

  /** Imports plants in requests of bounded size, one after the other. */
  import(plants: NewPlants, options?: RequestOptions): PlantImport {
    return new PlantImport(this.#plants.import(plants, options));
  }

  /**
   * Iterates over all plants in ascending order of their ids, in one request. If the answer ends early without a
   * failure of `fetch`, the error is an {@link IncompleteExportError}.
   */
  export(options?: ExportQuery & RequestOptions): AsyncGenerator<StoredPlant, void> {
    return this.#plants.export(options);
  }

  /** Iterates over the recorded changes, the oldest first, page by page, up to the newest. */
  changes(query?: ChangesQuery & RequestOptions): AsyncGenerator<PlantChange, void> {
    return this.#changes.all(query);
  }

  /** The position of the newest change. */
  latestPosition(options?: RequestOptions): Promise<bigint> {
    return this.#changes.latestPosition(options);
  }

  /**
   * Iterates over the recorded changes and then those that come, each once. It ends only with the signal, when the loop is left, or
   * with an error that a further attempt would not change. It connects again whenever the connection ends.
   */
  followChanges(query?: FollowQuery & RequestOptions): AsyncGenerator<PlantChange, void> {
    return this.#changes.follow(query);
  }
}

function pageOf({ items, next }: ResourcePage<StoredPlant>): Page {
  return { plants: items, next: next && (async () => pageOf(await next())) };
}
