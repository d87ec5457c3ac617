import type { Call, Connection } from './connection.js';
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

/** The pages of a path. */
export class Pages<Item, Query extends object> {
  readonly #path: string;
  readonly #int64: readonly string[];
  readonly #connection: Connection;

  /** @param int64 the members that are `bigint` */
  constructor(path: string, int64: readonly string[], connection: Connection) {
    this.#path = path;
    this.#int64 = int64;
    this.#connection = connection;
  }

  /** Requests one page. */
  async list(query?: Query & RequestOptions): Promise<ResourcePage<Item>> {
    const { signal, parameters } = split(query);
    checkExact(`GET ${this.#path}`, { query: parameters });
    // An empty list in a query would select everything.
    if (Object.values(parameters).some((value) => Array.isArray(value) && value.length === 0)) {
      signal?.throwIfAborted();
      const isCounted = 'count' in parameters && parameters.count === true;
      return {
        items: [],
        next: undefined,
        ...(isCounted && { total: { items: 0, isExact: true } }),
      };
    }
    return this.#page(signal, parameters);
  }

  /** Iterates over all pages. */
  async *all(query?: Query & RequestOptions): AsyncGenerator<Item, void> {
    let page: ResourcePage<Item> | undefined = await this.list(query);
    for (; page; page = await page.next?.()) {
      for (const item of page.items) {
        query?.signal?.throwIfAborted();
        yield item;
      }
    }
  }

  #page(signal: AbortSignal | null, query: Call['query']): Promise<ResourcePage<Item>> {
    return this.#connection.send(
      { method: 'GET', path: this.#path, signal, ...(query !== undefined && { query }) },
      async (response) => {
        const items = parseJson(await response.text(), this.#int64) as Item[];
        const link = response.headers.get('Link') ?? '';
        // Only the query: behind a proxy that changes paths, the path of the link can be wrong.
        const [, next] = /<[^>?]*\?([^>]*)>; *rel="next"/.exec(link) ?? [];
        return {
          items,
          next: next === undefined ? next : () => this.#page(signal, next),
          ...totalOf(response),
        };
      },
    );
  }
}

/** The parameters of a query apart from its signal. */
export function split({ signal = null, ...parameters }: RequestOptions = {}) {
  return { signal, parameters };
}

function totalOf({ headers }: Response): { readonly total?: Total } {
  const items = headers.get('X-Total-Count');
  if (items === null) return {};
  return {
    total: { items: Number(items), isExact: headers.get('X-Total-Count-Exact') === 'true' },
  };
}
