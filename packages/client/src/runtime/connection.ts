import createClient from 'openapi-fetch';
import type { Client } from 'openapi-fetch';
import { ERRORS } from './errors.js';
import { toJson } from './exact-json.js';
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

/** The types of the operations for openapi-fetch: all answers are text, which is parsed here without rounding. */
type AnyPaths = Record<string, Record<'get' | 'post' | 'put' | 'patch' | 'delete', AnyOperation>>;

interface AnyOperation {
  readonly parameters: {
    readonly path?: { readonly id: Id };
    readonly query?: object;
    readonly header?: { readonly 'If-Match'?: string; readonly 'Idempotency-Key'?: string };
  };
  readonly requestBody?: { readonly content: { readonly 'application/json': unknown } };
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': unknown } };
  };
}

export interface Answer<Data> {
  readonly data?: Data;
  readonly response: Response;
}

/** What a call passes to openapi-fetch. */
interface Sending {
  readonly signal: AbortSignal;
  readonly fetch: (request: Request) => Promise<Response>;
}

export interface Call<Data> {
  readonly signal: AbortSignal | null;
  readonly send: (
    client: Client<AnyPaths>,
    sending: Sending,
  ) => Promise<Answer<Data> & { readonly error?: unknown }>;
  /** How often the request is repeated at most, if not as often as the options say. */
  readonly retries?: number;
  /** Whether a repetition fails if the first request was carried out. */
  readonly isConditional?: boolean;
  /** Whether a missing resource means that an earlier attempt has removed it. */
  readonly isRemoval?: boolean;
}

/** Sends requests, and repeats those that fail temporarily. */
export class Connection {
  readonly #client: Client<AnyPaths>;
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
    this.#client = createClient<AnyPaths>({
      baseUrl: url,
      bodySerializer: toJson,
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
   */
  send<Data, T>(call: Call<Data>, read: (answer: Answer<Data>) => T | Promise<T>): Promise<T> {
    const { signal, retries = this.#retries, isConditional = false } = call;
    const attempt = async (state: Attempt) => read(await this.#answer(call, state));
    return repeat(attempt, { retries, signal, isConditional });
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

  #answer<Data>({ signal, send, isRemoval }: Call<Data>, state: Attempt): Promise<Answer<Data>> {
    return within(this.#timeout, signal, async (either) => {
      const { error, ...answer } = await send(this.#client, {
        signal: either,
        fetch: (request) => {
          state.isSent = true;
          return this.#fetch(request);
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
