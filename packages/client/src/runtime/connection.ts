import { ConnectionError } from './connection-error.js';
import { toJson } from './exact-json.js';
import { checkExact } from './exact-values.js';
import { chunksOf, Lines } from './lines.js';
import type { Wait } from './lines.js';
import { backoff, isRejection, isTemporary, repeat, secondsAfter } from './repeat.js';
import { ServiceError } from './service-error.js';
import { ERRORS, OPERATIONS } from './generated.js';
import { LONGEST_WAIT, within } from './waits.js';

export interface ClientOptions {
  /** The address of the service with its base path, such as `https://tools.example.com/api`. */
  readonly url: string;
  /** The bearer token, or a function that each attempt calls for it. */
  readonly token: string | (() => string | Promise<string>);
  /** Sends a request; by default the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** How often a request that failed temporarily is repeated, by default 4. With 0, it is not repeated. */
  readonly retries?: number;
  /**
   * The timeout of an attempt in milliseconds, by default 60,000. For an import and an export, it limits the wait for the
   * beginning of the response and each pause in the response.
   */
  readonly timeout?: number;
}

/** A body in a format of its own, which can be sent again. Before TypeScript 5.7, `Uint8Array` takes no type argument. */
export type Content = string | Uint8Array | Blob | FormData;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As in the document, such as `/tools/{id}`. */
  readonly path: string;
  /** Those in the path, such as `id`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Parameters, or a query that the service made. */
  readonly query?: object | string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly content?: Content;
  readonly signal: AbortSignal | null;
  /** Whether the timeout ends with the beginning of the response. */
  readonly isStream?: boolean;
  /** How often the request is repeated at most, if not as often as the options say. */
  readonly retries?: number;
  /** Whether it may be sent again although it may have been carried out. By default it may. */
  readonly isRepeatable?: boolean;
  /** Whether HTML may be from the service. */
  readonly acceptsPages?: boolean;
  /** Whether a missing resource means that an earlier attempt has removed it. */
  readonly isRemoval?: boolean;
}

export class Connection {
  readonly #baseUrl: string;
  readonly #token: ClientOptions['token'];
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #retries: number;
  readonly #timeout: number;

  /** @throws TypeError if an option is wrong */
  constructor(options: ClientOptions) {
    // JavaScript may pass `undefined`.
    if (typeof options !== 'object') {
      throw new TypeError(
        "the client needs options: { url, token }, such as { url: 'http://localhost:3000', token: 'the token' }",
      );
    }
    const { url, token, retries = 4, timeout = 60_000 } = options;
    if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) {
      throw new TypeError(
        `url must be a URL that begins with http:// or https://, such as http://localhost:3000, but is '${url}'`,
      );
    }
    if (typeof token !== 'function') bearer(token);
    if (!Number.isInteger(retries) || retries < 0) {
      throw new TypeError(`retries must be an integer from 0, but is ${retries}`);
    }
    if (!(timeout >= 1 && timeout <= LONGEST_WAIT)) {
      throw new TypeError(
        `timeout must be a number of milliseconds from 1 to ${LONGEST_WAIT}, but is ${timeout}`,
      );
    }
    this.#baseUrl = url.replace(/\/$/, '');
    this.#token = token;
    const send = options.fetch ?? ((request: Request) => fetch(request));
    // Without an object: browsers and workers reject a call of their `fetch` as a method of another one ("Illegal invocation").
    this.#fetch = (request) => send(request);
    this.#retries = retries;
    this.#timeout = timeout;
  }

  /**
   * Sends a request and reads its response, and repeats both if one of them fails temporarily.
   *
   * @throws ServiceError if the response is an error, or not from the service
   * @throws ConnectionError if there is no whole response
   * @throws TypeError if a value cannot be sent exactly
   */
  async send<T>(call: Call, read: (response: Response) => T | Promise<T>): Promise<T> {
    const { retries = this.#retries, isRepeatable = true, isRemoval, isStream, signal } = call;
    const { acceptsPages = false } = call;
    // Each attempt sends what has been checked once.
    const { url, ...init } = this.#requestOf(call);
    // A `TypeError` before that is not from the network.
    let isSent = false;
    // Whether an earlier attempt may have been carried out although it failed.
    let mayBeDone = false;
    const attempt = async (stopped: AbortSignal): Promise<Response> => {
      isSent = false;
      const request = new Request(url, { ...init, signal: stopped });
      const token = typeof this.#token === 'string' ? this.#token : await this.#token();
      request.headers.set('Authorization', bearer(token));
      isSent = true;
      const response = await this.#fetch(request);
      if (response.ok && (acceptsPages || !isPage(response))) return response;
      const error = new ServiceError(response, jsonOf(await response.text()), this.#baseUrl);
      if (isRemoval && mayBeDone && isMissing(error)) return response;
      throw error;
    };
    const delayAfter = (error: unknown, failures: number): number => {
      const thrown = isSent && !signal?.aborted ? connectionErrorOf(error, url) : error;
      if (failures >= retries || !isTemporary(error, isSent)) throw thrown;
      mayBeDone ||= !isRejection(error);
      if (mayBeDone && !isRepeatable) throw thrown;
      return secondsAfter(error) * 1_000 + backoff(failures);
    };
    return repeat(
      async () =>
        isStream
          ? read(await within(this.#timeout, signal, attempt, url))
          : within(this.#timeout, signal, async (stopped) => read(await attempt(stopped)), url),
      delayAfter,
      signal,
    );
  }

  /** The lines of a response, as many at a time as arrive at once. What follows the last line end is left out. */
  async *lines(
    { body, url }: Response,
    signal: AbortSignal | null,
  ): AsyncGenerator<readonly string[], void> {
    // `fetch` has none for a response without content.
    if (!body) return;
    const lines = new Lines();
    const from = url || this.#baseUrl;
    const wait: Wait = (read) => within(this.#timeout, signal, read, from);
    try {
      for await (const chunk of chunksOf(body, signal, wait)) yield lines.endedBy(chunk);
    } catch (error) {
      throw signal?.aborted ? error : connectionErrorOf(error, from);
    }
  }

  #requestOf({ method, path, parameters = {}, query, headers, body, content }: Call) {
    const operation = `${method} ${path}`;
    const isGiven = typeof query !== 'string';
    checkExact(operation, { path: parameters, ...(isGiven && query && { query }), body });
    const search = isGiven ? queryOf(operation, query) : query;
    const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
      segmentOf(name, parameters[name]),
    );
    const isJson = body !== undefined;
    const fields = { ...(isJson && { 'Content-Type': 'application/json' }), ...headers };
    return {
      url: `${this.#baseUrl}${filled}${search && `?${search}`}`,
      method,
      headers: present(fields).map(([name, value]): [string, string] => [name, String(value)]),
      body: isJson ? toJson(body) : ((content as RequestInit['body']) ?? null),
    };
  }
}

function queryOf(operation: string, given: object = {}): string {
  const { query = {} } = OPERATIONS[operation] ?? {};
  return present(given)
    .flatMap(([name, value]) => {
      const values = [value].flat().map((each) => encodeURIComponent(String(each)));
      const parts = query[name]?.isJoined ? [values.join()] : values;
      return parts.map((part) => `${encodeURIComponent(name)}=${part}`);
    })
    .join('&');
}

function present(given: object): readonly (readonly [name: string, value: unknown])[] {
  return Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
}

/** Without a value, or with dots, the path would be the one of another operation. */
function segmentOf(name: string, value: unknown): string {
  const text = value === undefined || value === null ? '' : `${value as string | bigint}`;
  if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  throw new TypeError(`${name} is needed in the path, but is '${text}'`);
}

/** What `fetch` throws of the network is a `TypeError`. */
function connectionErrorOf(error: unknown, url: string): unknown {
  const isOfFetch = error instanceof TypeError && !(error instanceof ConnectionError);
  return isOfFetch ? new ConnectionError(url, error) : error;
}

/** What a web server at another path returns, such as the page of an application. */
function isPage({ headers }: Response): boolean {
  return headers.get('Content-Type')?.startsWith('text/html') ?? false;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bearer(token: string): string {
  // JavaScript may pass `undefined`.
  if (typeof token !== 'string' || token.trim() === '') {
    throw new TypeError('token must be a text that is not empty');
  }
  // The message of `fetch` would contain the token.
  if (!/^[\x21-\x7E]+$/.test(token)) {
    throw new TypeError('token must consist of printable ASCII characters without spaces');
  }
  return `Bearer ${token}`;
}

function isMissing({ status, code }: ServiceError): boolean {
  return status === 404 && code !== undefined && code !== ERRORS.noSuchPath;
}
