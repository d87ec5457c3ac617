import { parseJson, toJson } from './exact-json.js';
import { checkExact } from './exact-values.js';
import { Pages, selectsNothing, split } from './pages.js';
import type { RequestOptions } from './pages.js';
import { ResourceImport } from './resource-import.js';
import type { Records } from './resource-import.js';
import type { Id, ResourceTypes } from './resource-types.js';
import { IDEMPOTENT_CREATES } from './generated.js';

export interface CreateOptions extends RequestOptions {
  /**
   * Creates with the same key create once, where the service makes the ids. By default, each call has a random one, which its
   * retries share. Where clients choose the ids, none is sent.
   */
  readonly idempotencyKey?: string;
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

/**
 * The operations of a resource, whatever its properties are. Each error response of the service is a {@link ServiceError};
 * without a response, the error is a {@link ConnectionError}. A 64-bit integer that is neither a `bigint` nor a safe
 * integer, and an id that is no UUID where ids are UUIDs, are a `TypeError`, and nothing is sent.
 */
export class Resource<Types extends ResourceTypes> extends Pages<
  Types['listed'],
  Types['listQuery']
> {
  /** Where clients choose the ids, an identical resource that is stored already is no error. */
  create(
    body: Types['new'],
    { signal = null, idempotencyKey = randomKey() }: CreateOptions = {},
  ): Promise<Types['created']> {
    const isKeyed = IDEMPOTENT_CREATES.includes(this.path.slice(1));
    const headers = isKeyed ? { 'Idempotency-Key': idempotencyKey } : {};
    return this.connection.send(
      { method: 'POST', path: this.path, headers, body, signal },
      (response) => this.#parse(response),
    );
  }

  get(
    id: Types['stored']['id'],
    { signal = null }: RequestOptions = {},
  ): Promise<Tagged<Types['stored']>> {
    return this.connection.send(
      { method: 'GET', path: this.#one, parameters: { id }, signal },
      (response) => this.#tagged(response),
    );
  }

  /** Requests one page. */
  override list(query?: Types['listQuery'] & RequestOptions) {
    return super.list(query);
  }

  /** Replaces all properties but the id. The response has no entity tag (RFC 9110, section 9.3.4). */
  async replace(
    id: Types['stored']['id'],
    body: Types['replacement'],
    options: ChangeOptions = {},
  ): Promise<Types['stored']> {
    return this.connection.send(
      { method: 'PUT', path: this.#one, body, ...changeOf(id, options) },
      (response) => this.#parse(response),
    );
  }

  /** Changes the properties that the patch has. `null` removes a property. */
  async patch(
    id: Types['stored']['id'],
    body: Types['patch'],
    options: ChangeOptions = {},
  ): Promise<Tagged<Types['stored']>> {
    return this.connection.send(
      { method: 'PATCH', path: this.#one, body, ...changeOf(id, options) },
      (response) => this.#tagged(response),
    );
  }

  /** If an attempt got no response, and another one finds nothing to remove, the first one has removed it. */
  async remove(id: Types['stored']['id'], options: ChangeOptions = {}): Promise<void> {
    const call = { ...changeOf(id, options), isRepeatable: true, isRemoval: true };
    await this.connection.send({ method: 'DELETE', path: this.#one, ...call }, () => undefined);
  }

  /** Imports records in requests of bounded size, one after the other. */
  import(
    records: Records<Types['new']>,
    { signal = null }: RequestOptions = {},
  ): ResourceImport<Types['new']> {
    const headers = { 'Content-Type': 'application/x-ndjson' };
    const lineOf = (record: Types['new']) => {
      checkExact(`POST ${this.path}`, { body: record });
      return toJson(record);
    };
    return new ResourceImport(records, lineOf, (content, read) =>
      this.connection.send(
        { method: 'POST', path: `${this.path}/import`, headers, content, signal, isStream: true },
        (response) => read(this.connection.lines(response, signal), response),
      ),
    );
  }

  /**
   * Iterates in ascending order of the ids, in one request. If the response ends early without an error of `fetch`, the
   * error is an {@link IncompleteExportError}.
   */
  async *export(
    query?: Types['exportQuery'] & RequestOptions,
  ): AsyncGenerator<Types['stored'], void> {
    const { signal, parameters } = split(query);
    if (selectsNothing(parameters)) {
      checkExact(`GET ${this.path}/export`, { query: parameters });
      signal?.throwIfAborted();
      return;
    }
    const response = await this.connection.send(
      { method: 'GET', path: `${this.path}/export`, query: parameters, signal, isStream: true },
      (begun) => begun,
    );
    let last: Id | undefined = query?.after;
    let isComplete = false;
    for await (const lines of this.connection.lines(response, signal)) {
      for (const line of lines) {
        signal?.throwIfAborted();
        isComplete = line === '';
        if (isComplete) continue;
        const item = parseJson(line, this.int64) as Types['stored'];
        yield item;
        last = item.id;
      }
    }
    if (!isComplete) throw new IncompleteExportError(last);
  }

  get #one(): string {
    return `${this.path}/{id}`;
  }

  async #parse<T>(response: Response): Promise<T> {
    return parseJson(await response.text(), this.int64) as T;
  }

  async #tagged(response: Response): Promise<Tagged<Types['stored']>> {
    const item = await this.#parse<Types['stored']>(response);
    return { ...item, etag: response.headers.get('ETag') ?? undefined };
  }
}

/**
 * The response to an export has an end, but not the empty line with which the service ends it. To a proxy that speaks
 * HTTP/1.0 to the service, a connection that a killed process leaves looks like the end of a response.
 */
export class IncompleteExportError<Key = bigint> extends Error {
  override readonly name = 'IncompleteExportError';

  /** @param last the id of the last record that arrived, or else `after` of the query. The next export can go on after it */
  constructor(readonly last: Key | undefined) {
    super('the export ended before the empty line that ends it');
  }
}

/** As random as a UUID, but `crypto.randomUUID` does not exist in a page that was loaded without TLS. */
export function randomKey(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function changeOf(id: Id, options: ChangeOptions) {
  const { signal = null, ifMatch } = options;
  // Otherwise, a missing ETag would turn into a change without a precondition.
  if ('ifMatch' in options && ifMatch === undefined) throw new TypeError('ifMatch is undefined');
  const isRepeatable = ifMatch === undefined;
  const headers = isRepeatable ? {} : { 'If-Match': ifMatch };
  return { parameters: { id }, headers, signal, isRepeatable };
}
