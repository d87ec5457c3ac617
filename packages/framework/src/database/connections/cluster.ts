import { databaseServers } from '../../config/database-url.js';
import type { DatabaseServers } from '../../config/database-url.js';
import { findPrimary, hostOf } from './find-primary.js';
import { PoolClient } from './pool-client.js';
import type { PoolClientConfig, StatementRunner } from './pool-client.js';
import type { Timelines } from './timelines.js';

/** The servers of a `DATABASE_URL`, of which one is the primary. */
export class Cluster {
  private readonly servers: DatabaseServers;

  constructor(
    readonly url: string,
    private readonly timelines: Timelines,
  ) {
    this.servers = databaseServers(url);
  }

  get hasSeveralHosts(): boolean {
    return this.servers.urls.length > 1;
  }

  get firstHost(): string {
    return this.servers.urls[0];
  }

  /**
   * @param config has the URL of the last primary, perhaps with another login. Its host is preferred
   * @throws NoPrimaryError, or the error of the only host
   */
  findPrimary(config: PoolClientConfig, signal: AbortSignal): Promise<string> {
    const last = hostOf(config.connectionString!);
    const isLast = (url: string) => Number(hostOf(url) === last);
    const urls = this.servers.urls.toSorted((one, other) => isLast(other) - isLast(one));
    const tryHost = async (connectionString: string, end: AbortSignal): Promise<number> => {
      const client = new PoolClient({ ...config, connectionString, onCreate: () => {} });
      // With `once`, because Node.js 20 and 22 keep a signal of `AbortSignal.any` for as long as it has a listener.
      end.addEventListener('abort', () => client.abandon(), { once: true });
      try {
        // Connections of the pool may be broken without notice.
        return await this.connect(client);
      } finally {
        client.abandon();
      }
    };
    return findPrimary(urls, tryHost, signal);
  }

  /**
   * For a client that does not belong to the pool.
   *
   * @returns the number of the timeline; 0 if it is not known
   * @throws StandbyError, ReadOnlyError, and an Error if the server was replaced
   */
  connect(client: PoolClient): Promise<number> {
    return withTimeout(client, async () => {
      await client.connect();
      return this.adopt(client);
    });
  }

  /**
   * Prepares the session of a connected client, like {@link connect}. A replaced primary that was not shut down still
   * takes writes, so of several hosts only the one with the newest timeline is used.
   */
  async adopt(client: PoolClient, runner?: StatementRunner): Promise<number> {
    await client.adoptSession(this.servers.mustWrite, runner);
    const timeline = this.hasSeveralHosts ? await client.timeline() : undefined;
    return timeline ? this.timelines.check(timeline, `${client.host}:${client.port}`) : 0;
  }
}

/** Abandons a connection that is not ready in time. The pool's own timeout does not cover the first query. */
export async function withTimeout<Result>(
  client: PoolClient,
  connecting: () => Promise<Result>,
): Promise<Result> {
  // `setImmediate` first reads a response that has already arrived.
  let giveUp: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    giveUp = setImmediate(() => client.abandon());
  }, client.limits.connection);
  try {
    return await connecting();
  } finally {
    clearTimeout(timer);
    clearImmediate(giveUp);
  }
}
