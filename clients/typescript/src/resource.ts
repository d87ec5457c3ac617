import createClient from 'openapi-fetch';
import type { Client } from 'openapi-fetch';
import { parseExactJson, stringifyExactJson } from './exact-json.js';
import { IncompleteExportError } from './incomplete-export-error.js';
import { PlantStoreError } from './plant-store-error.js';
import { ResourceImport } from './resource-import.js';
import type { Records } from './resource-import.js';
import type { ResourceTypes } from './resource-types.js';
import { linesOf } from './streams.js';

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
  /** Changes the resource only if it still has this entity tag. Otherwise, the change fails with the error 41200. */
  readonly ifMatch?: string;
}

/** What is stored, and the entity tag of its content, for `ifMatch`. */
export type Tagged<Stored> = Stored & {
  /** `undefined` if a proxy removed the header field. */
  readonly etag: string | undefined;
};

export interface ResourcePage<Stored> {
  /** In ascending order of their ids. */
  readonly items: readonly Stored[];
  /** Requests the next page. `undefined` on the last page. */
  readonly next: (() => Promise<ResourcePage<Stored>>) | undefined;
}

/** What openapi-fetch is told of the operations: all of them answer text, which is parsed here, without rounding. */
type AnyPaths = Record<string, Record<'get' | 'post' | 'put' | 'patch' | 'delete', AnyOperation>>;

interface AnyOperation {
  readonly parameters: {
    readonly path?: { readonly id: bigint };
    readonly query?: object;
    readonly header?: { readonly 'If-Match'?: string };
  };
  readonly requestBody?: { readonly content: { readonly 'application/json': unknown } };
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': unknown } };
  };
}

/**
 * The operations of a resource of a plant store, whatever its members are. Each failure that the service answers with is
 * a {@link PlantStoreError}; if there is no answer, the error is from `fetch`.
 */
export class Resource<Types extends ResourceTypes> {
  readonly #path: string;
  readonly #int64: readonly string[];
  readonly #client: Client<AnyPaths>;

  /**
   * @param name in the plural, as in the paths
   * @param int64 the members that are `bigint`: `INT64_MEMBERS` of the generated types has them
   */
  constructor(name: string, int64: readonly string[], { url, token, fetch }: PlantStoreOptions) {
    this.#path = `/${name}`;
    this.#int64 = int64;
    this.#client = createClient<AnyPaths>({
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

  /** An identical resource that is stored already is no failure. */
  async create(
    body: Types['new'],
    { signal = null }: RequestOptions = {},
  ): Promise<Types['created']> {
    const answer = await this.#client.POST(this.#path, { body, parseAs: 'text', signal });
    return this.#parse(textOf(answer)) as Types['created'];
  }

  async get(id: bigint, { signal = null }: RequestOptions = {}): Promise<Tagged<Types['stored']>> {
    const params = { path: { id } };
    return this.#tagged(await this.#client.GET(this.#one, { params, parseAs: 'text', signal }));
  }

  /** Requests one page. */
  list(query?: Types['listQuery'] & RequestOptions): Promise<ResourcePage<Types['stored']>> {
    const { signal, parameters } = split(query);
    return this.#page({ params: { query: parameters }, signal });
  }

  async #page(request: PageRequest): Promise<ResourcePage<Types['stored']>> {
    const answer = await this.#client.GET(this.#path, { ...request, parseAs: 'text' });
    const items = this.#parse(textOf(answer)) as Types['stored'][];
    const link = answer.response.headers.get('Link') ?? '';
    const [, query] = /<[^>?]*\?([^>]*)>; *rel="next"/.exec(link) ?? [];
    if (query === undefined) return { items, next: undefined };
    // Only the query: behind a proxy that changes paths, the path of the link can be wrong.
    return {
      items,
      next: () => this.#page({ signal: request.signal, querySerializer: () => query }),
    };
  }

  /** Iterates over all pages. */
  async *all(query?: Types['listQuery'] & RequestOptions): AsyncGenerator<Types['stored'], void> {
    let page: ResourcePage<Types['stored']> | undefined = await this.list(query);
    for (; page; page = await page.next?.()) yield* page.items;
  }

  /** Replaces all members but the id. The answer has no entity tag (RFC 9110, section 9.3.4). */
  async replace(
    id: bigint,
    body: Types['replacement'],
    options: ChangeOptions = {},
  ): Promise<Types['stored']> {
    const change = changeOf(id, options);
    return this.#parse(
      textOf(await this.#client.PUT(this.#one, { ...change, body, parseAs: 'text' })),
    ) as Types['stored'];
  }

  /** Changes the members that the patch has. `null` removes a member. */
  async patch(
    id: bigint,
    body: Types['patch'],
    options: ChangeOptions = {},
  ): Promise<Tagged<Types['stored']>> {
    const change = changeOf(id, options);
    return this.#tagged(await this.#client.PATCH(this.#one, { ...change, body, parseAs: 'text' }));
  }

  async remove(id: bigint, options: ChangeOptions = {}): Promise<void> {
    dataOf(await this.#client.DELETE(this.#one, changeOf(id, options)));
  }

  /** Imports records in requests of bounded size, one after the other. */
  import(
    records: Records<Types['new']>,
    { signal = null }: RequestOptions = {},
  ): ResourceImport<Types['new']> {
    return new ResourceImport(records, async (body) => {
      const answer = await this.#client.POST(`${this.#path}/import`, {
        body,
        bodySerializer: () => body,
        headers: { 'Content-Type': 'application/x-ndjson' },
        parseAs: 'text',
        signal,
      });
      return { response: answer.response, text: textOf(answer) };
    });
  }

  /**
   * Iterates in ascending order of the ids, in one request. If the answer ends early without a failure of `fetch`, the
   * error is an {@link IncompleteExportError}.
   */
  async *export(
    query?: Types['exportQuery'] & RequestOptions,
  ): AsyncGenerator<Types['stored'], void> {
    const { signal, parameters } = split(query);
    const body = dataOf(
      await this.#client.GET(`${this.#path}/export`, {
        params: { query: parameters },
        parseAs: 'stream',
        signal,
      }),
    );
    let last = query?.after;
    let isComplete = false;
    // `fetch` has no body for an answer without content.
    for await (const line of body ? linesOf(body) : []) {
      isComplete = line === '';
      if (isComplete) continue;
      const item = this.#parse(line) as Types['stored'];
      yield item;
      last = item.id;
    }
    if (!isComplete) throw new IncompleteExportError(last);
  }

  get #one(): string {
    return `${this.#path}/{id}`;
  }

  #parse(text: string): unknown {
    return parseExactJson(text, this.#int64);
  }

  #tagged(answer: Answer<string>): Tagged<Types['stored']> {
    const item = this.#parse(textOf(answer)) as Types['stored'];
    return { ...item, etag: answer.response.headers.get('ETag') ?? undefined };
  }
}

interface PageRequest {
  readonly signal: AbortSignal | null;
  readonly params?: { readonly query: object };
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

function split({ signal = null, ...parameters }: RequestOptions = {}) {
  return { signal, parameters };
}

function changeOf(id: bigint, options: ChangeOptions) {
  const { signal = null, ifMatch } = options;
  // Otherwise, a missing ETag would turn into a change without a precondition.
  if ('ifMatch' in options && ifMatch === undefined) throw new TypeError('ifMatch is undefined');
  const header = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
  return { params: { path: { id }, header }, signal };
}
