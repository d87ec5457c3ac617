import type { Logger } from 'pino';
import { POLL_INTERVAL } from '../../config/secret-file.js';
import type { Secret } from '../../config/secret-file.js';
import { describeError } from '../../observability/describe-error.js';
import { isLoginRejected } from '../database-error.js';
import { hostOf } from './find-primary.js';
import type { PoolClientConfig } from './pool-client.js';
import { Timelines } from './timelines.js';
import { Cluster } from './cluster.js';

/**
 * The URL of new connections. A new `DATABASE_URL` is used once a primary accepts it. When a server rejects the
 * login, the URL of the file is tried, and then the former one: a new password can be written to the file before
 * PostgreSQL has it.
 *
 * A function as `password` of pg could neither go back to the former one, nor change user and hosts.
 */
export class ConnectionTarget {
  /** Of the URL in use. */
  cluster: Cluster;
  private former: Cluster | undefined;
  /** Shared, because a new URL can have other servers of one cluster. */
  private readonly timelines: Timelines;
  private poll: NodeJS.Timeout | undefined;
  /** Shared by all connections that were rejected at the same time. */
  private search: Promise<boolean> | undefined;
  /** A URL that does not work, which was reported. */
  private reported: string | undefined;

  /** @param config of new connections, whose URL this class changes */
  constructor(
    private readonly source: Secret<string>,
    private readonly config: PoolClientConfig,
    private readonly logger: Logger,
  ) {
    this.timelines = new Timelines(logger);
    this.cluster = new Cluster(source.value, this.timelines);
    // TypeORM copies parts of the URL at the start. The driver would use one that a later URL lacks.
    for (const part of ['host', 'port', 'user', 'password', 'database'] as const) {
      config[part] = undefined;
    }
    config.connectionString = this.cluster.firstHost;
  }

  follow(): void {
    this.poll = setInterval(() => void this.takeUpNext(), POLL_INTERVAL).unref();
  }

  close(): void {
    clearInterval(this.poll);
  }

  /**
   * New connections will lead to the primary.
   *
   * @returns whether it is another server than before
   * @throws NoPrimaryError, or the error of the only host
   */
  async findPrimary(signal: AbortSignal): Promise<boolean> {
    const { config, cluster } = this;
    try {
      const url = await cluster.findPrimary(config, signal);
      const { connectionString: last = url } = config;
      if (url === last || signal.aborted || cluster !== this.cluster) return false;
      config.connectionString = url;
      return hostOf(url) !== hostOf(last);
    } catch (error) {
      if (!isLoginRejected(error)) throw error;
      this.source.refresh();
      const isOther = (await this.tryLogin(this.next)) || (await this.tryLogin(this.former));
      if (!isOther) throw error;
      return false;
    }
  }

  /** After a rejected login: looks for one that is accepted. */
  recover(): Promise<boolean> {
    this.search ??= this.findPrimary(AbortSignal.timeout(this.config.limits.connection))
      .then(
        () => true,
        () => false,
      )
      .finally(() => (this.search = undefined));
    return this.search;
  }

  /** The servers of the URL in the file, if it is not in use. */
  private get next(): Cluster | undefined {
    const { value: url } = this.source;
    return url === this.cluster.url ? undefined : new Cluster(url, this.timelines);
  }

  private async takeUpNext(): Promise<void> {
    this.source.refresh();
    await this.tryLogin(this.next);
  }

  private async tryLogin(cluster: Cluster | undefined): Promise<boolean> {
    if (cluster === undefined) return false;
    try {
      const signal = AbortSignal.timeout(this.config.limits.connection);
      this.use(cluster, await cluster.findPrimary(this.config, signal));
      return true;
    } catch (error) {
      this.report(cluster, error);
      return false;
    }
  }

  private use(cluster: Cluster, url: string): void {
    this.config.connectionString = url;
    if (cluster.url === this.cluster.url) return;
    this.former = this.cluster;
    this.cluster = cluster;
    this.reported = undefined;
    const server = hostOf(url);
    if (cluster.url === this.source.value) {
      this.logger.info({ server }, 'new connections use the new DATABASE_URL');
    } else {
      this.logger.warn({ server }, 'new connections use the former DATABASE_URL');
    }
  }

  private report({ url }: Cluster, error: unknown): void {
    if (url !== this.source.value || url === this.reported) return;
    this.reported = url;
    const reason = describeError(error);
    this.logger.warn({ reason }, 'the new DATABASE_URL does not work: the former stays in use');
  }
}
