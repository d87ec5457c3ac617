import createClient from 'openapi-fetch';
import { ERRORS } from './errors.js';
import { toJson } from './exact-json.js';
import { checkExact } from './exact-values.js';
import { ServiceError } from './service-error.js';
import { repeat } from './repeat.js';
import type { Attempt } from './repeat.js';
import type { Id } from './resource-types.js';
import { linesOf } from './streams.js';
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
   * beginning of the answer and each pause in the answer.
   */
  readonly timeout?: number;
}

export interface Answer<Data> {
  readonly data?: Data;
  readonly response: Response;
}

/** A request, and how to send it. */
export interface Call {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As in the document, such as `/tools/{id}`. */
  readonly path: string;
  readonly params?: {
    readonly path?: { readonly id: Id };
    readonly query?: object;
    readonly header?: { readonly 'If-Match'?: string; readonly 'Idempotency-Key'?: string };
  };
  /** A query that the service made. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What becomes JSON. */
  readonly body?: object;
  /** A body in a format of its own. */
  readonly text?: string;
  readonly signal: AbortSignal | null;
  /** How often the request is repeated at most, if not as often as the options say. */
  readonly retries?: number;
  /** Whether a repetition fails if the first request was carried out. */
  readonly isConditional?: boolean;
  /** Whether a missing resource means that an earlier attempt has removed it. */
  readonly isRemoval?: boolean;
}

/**
 * openapi-fetch without the types of a document, of which each client has other ones. All answers are texts or streams, which are
 * parsed here without rounding.
 */
type SendRequest<Data> = (
  method: Call['method'],
  path: string,
  init: object,
) => Promise<Answer<Data> & { readonly error?: unknown }>;

/** Sends requests, and repeats those that fail temporarily. */
export class Connection {
  readonly #client: ReturnType<typeof createClient>;
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
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.#retries = retries;
    this.#timeout = timeout;
    this.#client = createClient({
      baseUrl: url,
      querySerializer: { array: { style: 'form', explode: false } },
    });
    this.#client.use({
      onRequest: async ({ request }) => {
        const credentials = typeof token === 'string' ? token : await token();
        request.headers.set('Authorization', bearer(credentials));
      },
    });
  }

  /**
   * Sends a request and reads its answer, and repeats both if one of them fails temporarily.
   *
   * @throws ServiceError if the answer is a failure
   * @throws TypeError if a value cannot be sent exactly
   */
  send<T>(call: Call, read: (answer: Answer<string>) => T | Promise<T>): Promise<T> {
    return this.#send(call, 'text', read);
  }

  /** The same for an answer whose body is read piece by piece. */
  stream<T>(
    call: Call,
    read: (answer: Answer<ReadableStream<Uint8Array>>) => T | Promise<T>,
  ): Promise<T> {
    return this.#send(call, 'stream', read);
  }

  /** The lines of an answer. */
  lines(
    body: ReadableStream<Uint8Array> | null | undefined,
    signal: AbortSignal | null,
  ): AsyncIterable<string> {
    // `fetch` has no body for an answer without content.
    if (!body) {
      return linesOf(new ReadableStream({ start: (controller) => controller.close() }), signal);
    }
    return linesOf(body, signal, (read) => within(this.#timeout, signal, read));
  }

  async #send<Data, T>(
    call: Call,
    parseAs: 'text' | 'stream',
    read: (answer: Answer<Data>) => T | Promise<T>,
  ): Promise<T> {
    const { method, path, params, query, headers, body, signal } = call;
    const { retries = this.#retries, isConditional = false } = call;
    checkExact(`${method.toUpperCase()} ${path}`, { ...params, body });
    // Once: what has been checked is what each attempt sends.
    const text = body === undefined ? call.text : toJson(body);
    const init = {
      parseAs,
      ...(params && { params }),
      ...(query !== undefined && { querySerializer: () => query }),
      ...(headers && { headers }),
      ...(text !== undefined && { body: text, bodySerializer: () => text }),
    };
    const attempt = async (state: Attempt) => read(await this.#answer<Data>(call, init, state));
    return repeat(attempt, { retries, signal, isConditional });
  }

  #answer<Data>(call: Call, init: object, state: Attempt): Promise<Answer<Data>> {
    const { method, path, signal, isRemoval } = call;
    const request = this.#client.request as SendRequest<Data>;
    return within(this.#timeout, signal, async (either) => {
      const { error, ...answer } = await request(method, path, {
        ...init,
        signal: either,
        fetch: (sent: Request) => {
          state.isSent = true;
          return this.#fetch(sent);
        },
      });
      if (answer.response.ok) return answer;
      const failure = new ServiceError(answer.response, error);
      if (isRemoval && state.mayBeDone && isMissing(failure)) return answer;
      throw failure;
    });
  }
}

/** The value of the header field Authorization. */
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

/** Whether the service says that there is no such resource. */
function isMissing({ status, code }: ServiceError): boolean {
  return status === 404 && code !== undefined && code !== ERRORS.noSuchPath;
}
