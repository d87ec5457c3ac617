import { toJson } from './exact-json.js';
import { checkExact } from './exact-values.js';
import { chunksOf, Lines } from './lines.js';
import type { Wait } from './lines.js';
import { backoff, isRejection, isTemporary, repeat, secondsAfter } from './repeat.js';
import type { Id } from './resource-types.js';
import { ServiceError } from './service-error.js';
import { ERRORS } from './generated.js';
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

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As in the document, such as `/tools/{id}`. */
  readonly path: string;
  readonly id?: Id;
  /** Parameters, or a query that the service made. */
  readonly query?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** A body in a format of its own. */
  readonly content?: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal | null;
  /** Whether the timeout ends with the beginning of the response. */
  readonly isStream?: boolean;
  /** How often the request is repeated at most, if not as often as the options say. */
  readonly retries?: number;
  /** Whether a repetition fails if the first request was carried out. */
  readonly isConditional?: boolean;
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
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.#retries = retries;
    this.#timeout = timeout;
  }

  /**
   * Sends a request and reads its response, and repeats both if one of them fails temporarily.
   *
   * @throws ServiceError if the response is an error
   * @throws TypeError if a value cannot be sent exactly
   */
  async send<T>(call: Call, read: (response: Response) => T | Promise<T>): Promise<T> {
    const { retries = this.#retries, isConditional, isRemoval, isStream, signal } = call;
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
      if (response.ok) return response;
      const error = new ServiceError(response, jsonOf(await response.text()));
      if (isRemoval && mayBeDone && isMissing(error)) return response;
      throw error;
    };
    const delayAfter = (error: unknown, failures: number): number => {
      if (failures >= retries || !isTemporary(error, isSent)) throw error;
      mayBeDone ||= !isRejection(error);
      if (mayBeDone && isConditional) throw error;
      return secondsAfter(error) * 1_000 + backoff(failures);
    };
    return repeat(
      async () =>
        isStream
          ? read(await within(this.#timeout, signal, attempt))
          : within(this.#timeout, signal, async (stopped) => read(await attempt(stopped))),
      delayAfter,
      signal,
    );
  }

  /** The lines of a response, as many at a time as arrive at once. What follows the last line end is left out. */
  async *lines(
    { body }: Response,
    signal: AbortSignal | null,
  ): AsyncGenerator<readonly string[], void> {
    // `fetch` has none for a response without content.
    if (!body) return;
    const lines = new Lines();
    const wait: Wait = (read) => within(this.#timeout, signal, read);
    for await (const chunk of chunksOf(body, signal, wait)) yield lines.endedBy(chunk);
  }

  #requestOf({ method, path, id, query, headers, body, content }: Call) {
    const isGiven = typeof query !== 'string';
    checkExact(`${method} ${path}`, {
      ...(id !== undefined && { path: { id } }),
      ...(isGiven && query && { query }),
      body,
    });
    const search = isGiven ? queryOf(query) : query;
    const one = path.replace('{id}', encodeURIComponent(String(id)));
    return {
      url: `${this.#baseUrl}${one}${search && `?${search}`}`,
      method,
      headers: { ...(body && { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? (content ?? null) : toJson(body),
    };
  }
}

function queryOf(parameters: object = {}): string {
  return Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => {
      const values = [value].flat().map((each) => encodeURIComponent(String(each)));
      return `${encodeURIComponent(name)}=${values.join()}`;
    })
    .join('&');
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
