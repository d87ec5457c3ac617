/** Limits and timeouts of the public port; times in milliseconds. */
export const HTTP_LIMITS = {
  /** Further connections are closed at once. */
  connections: 10_000,
  headers: 10_000,
  bodyIdle: 10_000,
  body: 60_000,
  /** The rest of a rejected body from a client with a valid token is read for this time. */
  rejectedBody: 10_000,
  /** For a connection without traffic while a request runs or its response is not read. */
  socketIdle: 60_000,
  /**
   * Until the kernel probes an idle connection: a vanished client would keep it until `KEEP_ALIVE_TIMEOUT`, and firewalls forget
   * silent connections.
   */
  keepAliveProbe: 60_000,
} as const;

export type HttpLimits = Readonly<Record<keyof typeof HTTP_LIMITS, number>>;

/** `keepAlive`: between two requests on a connection. */
export type ServerLimits = HttpLimits & { readonly keepAlive: number };
