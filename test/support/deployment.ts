import { test } from 'vitest';
import { Crowd, GENTLE } from './crowd.js';
import { FaultyLink } from './faulty-link.js';
import { Follower, Pager } from './feed.js';
import type { FeedReader } from './feed.js';
import { lastingPort } from './lasting-port.js';
import { OwnPostgres } from './own-postgres.js';
import { PgBouncer } from './pgbouncer.js';
import { Workspace } from './process.js';
import type { Environment } from './process.js';
import { Replica } from './replica.js';
import { startReplicatedPostgres } from './replicated-postgres.js';
import type { ReplicatedPostgres } from './replicated-postgres.js';
import { placesOf } from './reverse-proxy.js';
import type { ReverseProxy, startNginx } from './reverse-proxy.js';

/** What a test of the built service can ask for. It starts when a test names it, and ends with the test. */
interface Deployment {
  /** Settings of {@link postgres}. */
  readonly settings: Readonly<Record<string, string>>;
  readonly postgres: OwnPostgres;
  /** Where the service finds its database. */
  readonly databaseUrl: string;
  /** Variables of the service. */
  readonly environment: Environment;
  /** The folder in which everything else runs. */
  readonly workspace: Workspace;
  /** Starts a replica of the service. */
  readonly start: (environment?: Environment) => Promise<Replica>;
  readonly replica: Replica;
  readonly replicas: readonly [Replica, Replica];
  /** Clients of {@link replica}, which has served some of their creates. */
  readonly crowd: Crowd;
  /** Readers of changes, to which a test adds. */
  readonly readers: FeedReader[];
}

/* oxlint-disable no-empty-pattern -- Vitest reads from the pattern which other fixtures one needs. */
export const it = test.extend<Deployment>({
  settings: {},
  environment: {},
  postgres: async ({ settings }, use) => {
    const postgres = await OwnPostgres.start(settings);
    await use(postgres);
    await postgres.stop();
  },
  databaseUrl: ({ postgres }, use) => use(postgres.url),
  workspace: async ({}, use) => {
    const workspace = await Workspace.create();
    await use(workspace);
    await workspace.remove();
  },
  start: ({ databaseUrl, workspace, environment }, use) =>
    use((changes) =>
      Replica.start(workspace, { DATABASE_URL: databaseUrl, ...environment, ...changes }),
    ),
  replica: async ({ start }, use) => use(await start()),
  replicas: async ({ start }, use) => use(await Promise.all([start(), start()])),
  crowd: async ({ replica }, use) => {
    const crowd = new Crowd({ urls: [replica.url], pause: GENTLE });
    await crowd.served(300);
    await use(crowd);
    await crowd.stop();
  },
  readers: async ({}, use) => {
    const readers: FeedReader[] = [];
    await use(readers);
    await Promise.all(readers.map((reader) => reader.stop()));
  },
});
/* oxlint-enable no-empty-pattern */

/** The service is behind PgBouncer in transaction mode. */
export const itBehindPgBouncer = it.extend<
  Pick<Deployment, 'databaseUrl'> & { readonly pgBouncer: PgBouncer }
>({
  pgBouncer: async ({ postgres, workspace }, use) => {
    const pgBouncer = await PgBouncer.start(workspace.folder, postgres.url);
    await use(pgBouncer);
    await pgBouncer.kill();
  },
  databaseUrl: ({ pgBouncer }, use) => use(pgBouncer.url),
});

interface Proxied extends Pick<Deployment, 'environment'> {
  /** Of the proxy. */
  readonly port: number;
  /** Starts a proxy with a configuration in `test/faults`. */
  readonly startProxy: (
    start: typeof startNginx,
    configuration: string,
    replicas: readonly Replica[],
  ) => Promise<ReverseProxy>;
}

/* oxlint-disable no-empty-pattern -- As above. */
/** The replicas are behind a proxy. */
export const itBehindProxy = it.extend<Proxied>({
  port: async ({}, use) => use(await lastingPort()),
  environment: ({ port }, use) =>
    use({
      PUBLIC_BASE_URL: `https://localhost:${port}/api`,
      TRUST_PROXY: 'loopback',
      // Longer than two checks of HAProxy may take.
      SHUTDOWN_DELAY: '3',
    }),
  startProxy: async ({ workspace: { folder }, port }, use) => {
    let proxy: ReverseProxy | undefined;
    await use(async (start, configuration, replicas) => {
      const template = `test/faults/${configuration}`;
      proxy = await start({ folder, template, port, values: placesOf(replicas) });
      return proxy;
    });
    await proxy?.stop();
  },
});
/* oxlint-enable no-empty-pattern */

interface Cluster extends Pick<Deployment, 'databaseUrl'> {
  readonly cluster: ReplicatedPostgres;
  /** Leads to the primary at first. */
  readonly address: FaultyLink;
}

/** The database is a primary with a standby, at an address that can lead to either. */
export const itOnCluster = it.extend<Cluster>({
  cluster: async ({ settings }, use) => {
    const cluster = await startReplicatedPostgres(settings);
    await use(cluster);
    await cluster.stop();
  },
  address: async ({ cluster }, use) => {
    const address = await FaultyLink.to(cluster.primary.url);
    await use(address);
    await address.close();
  },
  databaseUrl: ({ address }, use) => use(address.url),
});

/** The standby has each change before it is acknowledged. */
export const itOnSynchronousCluster = itOnCluster.extend({
  settings: { synchronous_standby_names: '*' },
});

/** Two followers and two readers of pages, which begin at different replicas. */
export function readersOf(urls: readonly string[]): FeedReader[] {
  return [urls, urls.toReversed()].flatMap((order) => [
    new Follower({ urls: order }),
    new Pager({ urls: order }),
  ]);
}
