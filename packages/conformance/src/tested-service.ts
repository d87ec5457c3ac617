import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenApiDocument } from '@resource-service/client/document';
import { backoff } from '@resource-service/client/runtime';
import { errorOf, NoResponse } from './exchange.js';
import type { Exchange } from './exchange.js';
import { toJson } from './json.js';
import { Random } from './random.js';
import type { ServiceProcess } from './service-process.js';

/** Where a service is, and what the checks may use. */
export interface ServiceOptions {
  /** With the base path, such as `http://localhost:3000/api`. */
  readonly url: string;
  /** A token with all scopes. */
  readonly token: string;
  /** A token with some scopes of reading operations, and no others. */
  readonly readToken?: string | undefined;
  /** A token of another principal, which need not have all scopes. With it, a check looks for rows that only their owners see. */
  readonly otherToken?: string | undefined;
  /** Such as `http://localhost:3001/metrics`. With it, a check watches the memory of the service. */
  readonly metricsUrl?: string | undefined;
  /** Repeats the values of a former run, except ids and idempotency keys. */
  readonly seed?: number | undefined;
  /** The time of a check in milliseconds, by default 10 minutes. A check that takes longer fails. */
  readonly checkTimeout?: number | undefined;
}

export interface RequestOptions {
  /** JSON, unless it is a text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another one than the token with all scopes. `null` sends none. */
  readonly token?: string | null;
}

/** A row that a check has created. */
export interface Row {
  readonly id: bigint | string;
  /** Of the row, such as `/tools/7`. */
  readonly path: string;
  /** What was sent. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Whether the document has a DELETE for it. */
  readonly isRemovable: boolean;
}

/** In milliseconds: more than the sum of the timeouts of a service. */
const TIMEOUT = 30_000;

const ATTEMPTS = 6;

/** The service may have carried out the request before it lost the database. */
const DATABASE_UNAVAILABLE = 50_300;

/** The service that is checked, and the rows that the checks have created in it. */
export class TestedService {
  readonly random: Random;
  /** Makes ids and idempotency keys: others in each run, because the service still knows the former ones, also of removed rows. */
  readonly fresh = new Random(Math.floor(Math.random() * 2 ** 31));
  /** Aborts when the time of the check is over. */
  readonly signal: AbortSignal = new AbortController().signal;
  /** The requests without a response. */
  readonly pending = new Set<string>();
  private readonly rows = new Map<string, Row>();
  private readonly url: string;

  constructor(
    readonly document: OpenApiDocument,
    readonly options: ServiceOptions,
    /** The service, if checks may kill it. */
    readonly process?: ServiceProcess,
  ) {
    this.url = options.url.replace(/\/$/, '');
    this.random = new Random(options.seed ?? Math.floor(Math.random() * 2 ** 31));
  }

  /** This service for a check, which sends nothing any more after its time. */
  until(signal: AbortSignal): TestedService {
    return Object.create(this, {
      signal: { value: signal },
      pending: { value: new Set<string>() },
    }) as TestedService;
  }

  /** This service for another token. */
  as(token: string): TestedService {
    return Object.create(this, {
      options: { value: { ...this.options, token } },
    }) as TestedService;
  }

  /**
   * Sends a request, again if the service is too busy for it.
   *
   * @throws NoResponse if there is no whole response
   */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Exchange> {
    for (let attempt = 1; ; attempt += 1) {
      const exchange = await this.exchange(method, path, options);
      const seconds = Number(exchange.headers['retry-after'] ?? 0);
      const isBusy = exchange.status === 429 || exchange.status === 503;
      const isDone = !isBusy || errorOf(exchange) === DATABASE_UNAVAILABLE || seconds > 60;
      if (isDone || attempt === ATTEMPTS) return exchange;
      await sleep(seconds * 1_000 + backoff(attempt));
    }
  }

  private async exchange(
    method: string,
    path: string,
    { body, headers = {}, token = this.options.token }: RequestOptions,
  ): Promise<Exchange> {
    this.signal.throwIfAborted();
    const text = body === undefined || typeof body === 'string' ? body : toJson(body);
    const requestHeaders = {
      ...(text !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    };
    const request = `${method} ${path}`;
    this.pending.add(request);
    try {
      const response = await fetch(this.url + path, {
        method,
        headers: { ...requestHeaders, ...(token !== null && { Authorization: `Bearer ${token}` }) },
        redirect: 'manual',
        signal: AbortSignal.any([this.signal, AbortSignal.timeout(TIMEOUT)]),
        ...(text !== undefined && { body: text }),
      });
      return {
        method,
        path,
        requestHeaders,
        requestBody: text,
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      };
    } catch (error) {
      this.signal.throwIfAborted();
      throw new NoResponse(method, path, error);
    } finally {
      this.pending.delete(request);
    }
  }

  /** As the client of the service sends them. */
  get clientOptions() {
    const { signal, url } = this;
    const send = (request: Request) =>
      fetch(request, { signal: AbortSignal.any([request.signal, signal]) });
    return { url, token: this.options.token, fetch: send };
  }

  /** Remembers a row, to remove it at the end. */
  add(row: Row): void {
    this.rows.set(row.path, row);
  }

  /** Removes what the checks have created, the newest first. Returns the paths of what is left. */
  async removeRows(): Promise<readonly string[]> {
    const left: string[] = [];
    let responds = true;
    for (const { path, isRemovable } of [...this.rows.values()].toReversed()) {
      if (!isRemovable || !responds) {
        left.push(path);
        continue;
      }
      try {
        const { status } = await this.send('DELETE', path);
        if (status >= 300 && status !== 404) left.push(path);
      } catch (error) {
        if (!(error instanceof NoResponse)) throw error;
        // Each further request would wait as long.
        responds = false;
        left.push(path);
      }
    }
    this.rows.clear();
    return left;
  }
}
