/** The bounds of the public port; times in milliseconds. */
export const HTTP_LIMITS = {
  /** Open at the same time; further ones are closed at once. */
  connections: 10_000,
  /** All header fields of a request. */
  headers: 10_000,
  /** Between two pieces of a request body. */
  bodyIdle: 10_000,
  /** All of a request body. */
  body: 60_000,
  /** The rest of a body that is refused, from a caller with a valid token. */
  refusedBody: 10_000,
  /** A connection on which nothing moves while a request is under way, or an answer is not read. */
  socketIdle: 60_000,
  /** Between two requests. Longer than proxies keep their side (60 s), so that they close first. */
  keepAlive: 72_000,
} as const;

export type HttpLimits = Readonly<Record<keyof typeof HTTP_LIMITS, number>>;
