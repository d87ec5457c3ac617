/** Limits and timeouts of the public port; times in milliseconds. */
export const HTTP_LIMITS = {
  /** Most open connections. Further connections are closed at once. */
  connections: 10_000,
  /** All header fields of a request arrive within this time. */
  headers: 10_000,
  /** Between two chunks of a request body. */
  bodyIdle: 10_000,
  /** A whole request body arrives within this time. */
  body: 60_000,
  /** The rest of a refused body from a client with a valid token is read for this time. */
  refusedBody: 10_000,
  /** A connection without traffic is closed after this time while a request runs or its answer is not read. */
  socketIdle: 60_000,
  /**
   * The kernel asks after this time whether the client of an idle connection still exists. A client that has vanished would keep
   * its connection until `KEEP_ALIVE_TIMEOUT`, and a firewall on the way forgets silent connections.
   */
  keepAliveProbe: 60_000,
} as const;

export type HttpLimits = Readonly<Record<keyof typeof HTTP_LIMITS, number>>;

/** With the time between two requests on a connection, which is configured. */
export type ServerLimits = HttpLimits & { readonly keepAlive: number };
