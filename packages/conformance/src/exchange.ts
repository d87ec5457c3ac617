import { isObject, parseJson } from './json.js';
import type { Json } from './json.js';

/** A request and its response. */
export interface Exchange {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Without the token. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** There is no whole response: nobody knows whether the request was carried out. */
export class NoResponse extends Error {
  constructor(method: string, path: string, cause: unknown) {
    super(`${method} ${path} has no response: ${reasonOf(cause)}`, { cause });
  }
}

export function jsonOf({ body }: Exchange): unknown {
  return parseJson(body);
}

/** The object in the body, or an empty one. */
export function contentOf(exchange: Exchange): Json {
  const json = jsonOf(exchange);
  return isObject(json) ? json : {};
}

/** The number of the error in the body. */
export function errorOf(exchange: Exchange): number | undefined {
  const { error } = contentOf(exchange);
  return typeof error === 'bigint' ? Number(error) : undefined;
}

/** The query of the next page. */
export function nextOf({ headers }: Exchange): string | undefined {
  // Behind a proxy that changes paths, the path of the link can be wrong.
  return /<[^>?]*\?([^>]*)>; *rel="next"/.exec(headers['link'] ?? '')?.[1];
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
