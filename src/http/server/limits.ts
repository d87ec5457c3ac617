/** Limits and timeouts of the public port; times in milliseconds. */
export const HTTP_LIMITS = {
  /** Most open connections. Further connections are closed at once. */
  connections: 10_000,
  /** For all header fields of a request. */
  headers: 10_000,
  /** Between two chunks of a request body. */
  bodyIdle: 10_000,
  /** For a whole request body. */
  body: 60_000,
  /** For the rest of a refused body from a client with a valid token. */
  refusedBody: 10_000,
  /** For a connection without traffic while a request runs or its answer is not read. */
  socketIdle: 60_000,
  /**
   * For an idle connection, before the kernel asks whether the client still exists. A client that has vanished would keep
   * its connection until `KEEP_ALIVE_TIMEOUT`, and a firewall on the way forgets silent connections.
   */
  keepAliveProbe: 60_000,
} as const;

export type HttpLimits = Readonly<Record<keyof typeof HTTP_LIMITS, number>>;

/** With the time between two requests on a connection, which is configured. */
export type ServerLimits = HttpLimits & { readonly keepAlive: number };
