import { Connection } from './connection.js';
import type { Call, ClientOptions } from './connection.js';
import { parseJson } from './exact-json.js';
import { checkExact } from './exact-values.js';

export interface RequestOptions {
  readonly signal?: AbortSignal | null;
}

/** How many items match, on all pages. */
export interface Total {
  readonly items: number;
  /** Otherwise it is an estimate. */
  readonly isExact: boolean;
}

export interface ResourcePage<Item> {
  /** By default in ascending order of their ids, or of their positions. */
  readonly items: readonly Item[];
  /** If the query has `count: true`. */
  readonly total?: Total;
  /** Requests the next page. `undefined` on the last page. */
  readonly next: (() => Promise<ResourcePage<Item>>) | undefined;
}

/** What resources and feeds have in common. */
export class Pages<Item, Query extends object> {
  protected readonly path: string;
  protected readonly int64: readonly string[];
  protected readonly connection: Connection;

  /**
   * @param name as in the paths, such as `tools`
   * @param int64 the properties that are `bigint`: `INT64_PROPERTIES` of the generated types has them
   * @throws TypeError if an option is wrong
   */
  constructor(name: string, int64: readonly string[], options: ClientOptions) {
    this.path = `/${name}`;
    this.int64 = int64;
    this.connection = new Connection(options);
  }

  /** Iterates over all pages. The pages of a feed end with the newest change. */
  async *all(query?: Query & RequestOptions): AsyncGenerator<Item, void> {
    let page: ResourcePage<Item> | undefined = await this.list(query);
    for (; page; page = await page.next?.()) {
      for (const item of page.items) {
        query?.signal?.throwIfAborted();
        yield item;
      }
    }
  }

  protected async list(query?: Query & RequestOptions): Promise<ResourcePage<Item>> {
    const { signal, parameters } = split(query);
    checkExact(`GET ${this.path}`, { query: parameters });
    if (selectsNothing(parameters)) {
      signal?.throwIfAborted();
      const isCounted = 'count' in parameters && parameters.count === true;
      const total = { items: 0, isExact: true };
      return { items: [], next: undefined, ...(isCounted && { total }) };
    }
    return this.#page(signal, parameters);
  }

  #page(signal: AbortSignal | null, query: Call['query']): Promise<ResourcePage<Item>> {
    return this.connection.send(
      { method: 'GET', path: this.path, signal, ...(query !== undefined && { query }) },
      async (response) => {
        const items = parseJson(await response.text(), this.int64) as Item[];
        const { headers } = response;
        const link = headers.get('Link') ?? '';
        const total = headers.get('X-Total-Count');
        const isExact = headers.get('X-Total-Count-Exact') === 'true';
        // Only the query: behind a proxy that changes paths, the path of the link can be wrong.
        const [, next] = /<[^>?]*\?([^>]*)>; *rel="next"/.exec(link) ?? [];
        return {
          items,
          next: next === undefined ? next : () => this.#page(signal, next),
          ...(total !== null && { total: { items: Number(total), isExact } }),
        };
      },
    );
  }
}

/** Whether a query has an empty list. Without it, the query would select everything. */
export function selectsNothing(parameters: object): boolean {
  return Object.values(parameters).some((value) => Array.isArray(value) && value.length === 0);
}

/** The parameters of a query apart from its signal. */
export function split({ signal = null, ...parameters }: RequestOptions = {}) {
  return { signal, parameters };
}
