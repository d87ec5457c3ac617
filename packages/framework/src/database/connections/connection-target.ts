import type { Logger } from 'pino';
import { databaseServers } from '../../config/database-url.js';
import { POLL_INTERVAL } from '../../config/secret-file.js';
import type { Secret } from '../../config/secret-file.js';
import { describeFailure } from '../../observability/describe-failure.js';
import { isLoginRejected } from '../database-error.js';
import { hostOf } from './find-primary.js';
import type { PoolClientConfig } from './pool-client.js';
import { Cluster } from './cluster.js';

/** TypeORM copies these parts of the URL at the start. The driver would use one that a later URL lacks. */
const PARTS_OF_URL = {
  host: undefined,
  port: undefined,
  user: undefined,
  password: undefined,
  database: undefined,
};

interface Login {
  readonly url: string;
  readonly cluster: Cluster;
}

/**
 * The URL of new connections. A new `DATABASE_URL` is used once a primary accepts it. When a server rejects the
 * login, the URL of the file is tried, and then the former one: a new password can be written to the file before
 * PostgreSQL has it.
 *
 * A function as `password` of pg could neither go back to the former one, nor change user and hosts.
 */
export class ConnectionTarget {
  private current: Login;
  private former: Login | undefined;
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
    const { value: url } = source;
    const servers = databaseServers(url);
    this.current = { url, cluster: Cluster.of(servers, logger) };
    Object.assign(config, PARTS_OF_URL, { connectionString: servers.urls[0] });
  }

  get cluster(): Cluster {
    return this.current.cluster;
  }

  follow(): void {
    this.poll = setInterval(() => void this.takeUpNext(), POLL_INTERVAL).unref();
  }

  close(): void {
    clearInterval(this.poll);
  }

  /**
   * Looks for the primary. New connections will lead there.
   *
   * @returns whether the primary is another server than before
   * @throws NoPrimaryError, or the error of the only host
   */
  async findPrimary(signal: AbortSignal): Promise<boolean> {
    const { config, current } = this;
    try {
      const url = await current.cluster.findPrimary(config, signal);
      const { connectionString: last = url } = config;
      if (url === last || signal.aborted || current !== this.current) return false;
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

  /** The URL of the file, if it is not in use. */
  private get next(): Login | undefined {
    const { value: url } = this.source;
    if (url === this.current.url) return undefined;
    return { url, cluster: this.cluster.replacedBy(databaseServers(url)) };
  }

  private async takeUpNext(): Promise<void> {
    this.source.refresh();
    await this.tryLogin(this.next);
  }

  private async tryLogin(login: Login | undefined): Promise<boolean> {
    if (login === undefined) return false;
    try {
      const signal = AbortSignal.timeout(this.config.limits.connection);
      this.use(login, await login.cluster.findPrimary(this.config, signal));
      return true;
    } catch (error) {
      this.report(login, error);
      return false;
    }
  }

  private use(login: Login, url: string): void {
    this.config.connectionString = url;
    if (login.url === this.current.url) return;
    this.former = this.current;
    this.current = login;
    this.reported = undefined;
    const server = hostOf(url);
    if (login.url === this.source.value) {
      this.logger.info({ server }, 'new connections use the new DATABASE_URL');
    } else {
      this.logger.warn({ server }, 'new connections use the former DATABASE_URL');
    }
  }

  private report({ url }: Login, error: unknown): void {
    if (url !== this.source.value || url === this.reported) return;
    this.reported = url;
    const reason = describeFailure(error);
    this.logger.warn({ reason }, 'the new DATABASE_URL does not work: the former stays in use');
  }
}
