import type { Logger } from 'pino';
import type { DatabaseServers } from '../../config/database-url.js';
import { OutdatedPrimaryError } from '../database-failure.js';
import { withTimeout } from './connection-timeout.js';
import { findPrimary } from './find-primary.js';
import { PoolClient } from './pool-client.js';
import type { PoolClientConfig, StatementRunner, Timeline } from './pool-client.js';

/** The servers of `DATABASE_URL`, of which one is the primary. */
export class Servers {
  /** The newest of a server that was reached. */
  private timeline: Timeline | undefined;

  /** Servers with an older timeline that were reported. */
  private readonly replaced = new Set<string>();

  constructor(
    private readonly servers: DatabaseServers,
    private readonly logger: Logger,
  ) {}

  get areSeveral(): boolean {
    return this.servers.urls.length > 1;
  }

  /**
   * Looks for the primary, first at the host that was last found to be the primary.
   *
   * @returns the URL of the primary
   * @throws NoPrimaryError, or the failure of the only host
   */
  findPrimary(config: PoolClientConfig, signal: AbortSignal): Promise<string> {
    const hosts = new Set([config.connectionString!, ...this.servers.urls]);
    const tryHost = async (connectionString: string, end: AbortSignal): Promise<number> => {
      const client = new PoolClient({ ...config, connectionString, onCreate: () => {} });
      const abandon = (): void => client.abandon();
      end.addEventListener('abort', abandon, { once: true });
      try {
        // A new connection, because connections of the pool may be broken without notice.
        return await this.connect(client);
      } finally {
        end.removeEventListener('abort', abandon);
        abandon();
      }
    };
    return findPrimary([...hosts], tryHost, signal);
  }

  /**
   * Connects a client that does not belong to the pool.
   *
   * @returns the number of the timeline; 0 if it is not known
   * @throws StandbyError, ReadOnlyError, OutdatedPrimaryError
   */
  connect(client: PoolClient): Promise<number> {
    return withTimeout(client, async () => {
      await client.connect();
      return this.adopt(client);
    });
  }

  /**
   * Prepares the session of a client that is connected, like {@link connect}.
   *
   * @throws StandbyError, ReadOnlyError, OutdatedPrimaryError
   */
  async adopt(client: PoolClient, runner?: StatementRunner): Promise<number> {
    await client.adoptSession(this.servers.mustWrite, runner);
    return this.requireNewest(client);
  }

  /**
   * A primary that was replaced, but not shut down, still takes connections and writes. Of several hosts, only the server
   * with the newest timeline is used.
   */
  private async requireNewest(client: PoolClient): Promise<number> {
    if (!this.areSeveral) return 0;
    const timeline = await client.timeline();
    if (timeline === undefined) return 0;
    const { number } = timeline;
    const newest = timeline.system === this.timeline?.system ? this.timeline.number : 0;
    if (number < newest) {
      const error = new OutdatedPrimaryError(number, newest);
      this.reportReplaced(client, error);
      throw error;
    }
    this.timeline = timeline;
    return number;
  }

  /** Whoever writes to this server by another way loses what is written. */
  private reportReplaced({ host, port }: PoolClient, { message: reason }: Error): void {
    const server = `${host}:${port}`;
    if (this.replaced.has(server)) return;
    this.replaced.add(server);
    this.logger.error({ server, reason }, 'a replaced primary is still running');
  }
}
