import { Global, Inject, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import type { DataSourceOptions } from 'typeorm';
import { CONFIG } from '../config/config.module.js';
import type { Config, ServiceConfig } from '../config/config.js';
import { secretOf } from '../config/secret-file.js';
import { LOGGER } from '../observability/logger.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { Metrics } from '../observability/metrics.js';
import { Readiness } from '../observability/readiness.js';
import { dataSourceOf, dataSourceOptions } from './data-source.js';
import type { DatabaseSchema } from './data-source.js';
import { poolOf } from './connections/bounded-pool.js';
import { GIVEN_DATABASE_LIMITS } from './limits.js';
import type { DatabaseLimits } from './limits.js';
import { Bulkheads } from './bulkheads.js';
import { CommitHooks } from './commit-hooks.js';
import { Locks } from './connections/locks.js';
import { prepareDatabase } from './migrations/migrate.js';
import { OwnStatements } from './lock-waits/own-statements.js';
import { SCHEMA, SchemaModule } from './schema.module.js';
import { Statements } from './statements.js';
import { Transactions } from './transactions.js';
import { waitApart } from './lock-waits/typeorm-waits.js';

const NO_POOL = { used: 0, idle: 0, pending: 0, max: 0 };

/** The statements are the service's own. Those of the framework wait in other ways, and are made where they are needed. */
const services = [
  { provide: Statements, useClass: OwnStatements },
  Bulkheads,
  CommitHooks,
  Locks,
  Transactions,
];

@Global()
@Module({
  imports: [
    SchemaModule.forRoot(),
    TypeOrmModule.forRootAsync({
      inject: [CONFIG, SCHEMA, LOGGER, TRACER, { token: GIVEN_DATABASE_LIMITS, optional: true }],
      useFactory: optionsOf,
      dataSourceFactory: async (options) => {
        const dataSource = dataSourceOf(options!);
        await (options as Options).connect?.(dataSource);
        return dataSource;
      },
    }),
  ],
  providers: services,
  exports: services,
})
export class DatabaseModule {
  constructor(
    @Inject(CONFIG) { identity }: Config,
    dataSource: DataSource,
    metrics: Metrics,
    readiness: Readiness,
    bulkheads: Bulkheads,
  ) {
    waitApart(dataSource, bulkheads);
    const gauge = (name: string, help: string, value: keyof typeof NO_POOL, labels = {}) =>
      metrics.gauge(
        `db_client_connection_${name}`,
        help,
        () => (poolOf(dataSource)?.use ?? NO_POOL)[value],
        { db_client_connection_pool_name: identity.name, ...labels },
      );
    for (const state of ['used', 'idle'] as const) {
      const labels = { db_client_connection_state: state };
      gauge('count', 'Connections of the pool, by state.', state, labels);
    }
    gauge('pending_requests', 'Requests that wait for a connection of the pool.', 'pending');
    gauge('max', 'Maximum number of connections of the pool.', 'max');
    readiness.addCheck(() =>
      poolOf(dataSource)?.isOnStandby === true ? 'the database is a standby' : undefined,
    );
  }
}

type Options = DataSourceOptions & {
  readonly manualInitialization: true;
  readonly retryAttempts: 0;
  readonly connect?: (dataSource: DataSource) => Promise<void>;
};

function optionsOf(
  config: ServiceConfig,
  schema: DatabaseSchema,
  logger: Logger,
  tracer: Tracer,
  limits?: DatabaseLimits,
): Options {
  const { identity, database } = config;
  const url = secretOf('DATABASE_URL', database.url, config, logger);
  const { schema: name, poolMax } = database;
  const settings = { identity, url, schema: name, poolMax, logger, tracer, limits };
  return {
    ...dataSourceOptions(settings, schema),
    // The start connects with a timeout, while the health port already responds (connect.ts).
    manualInitialization: true,
    retryAttempts: 0,
    ...(database.connectsAtOnce === true && {
      // What the start does before it initializes the application (service.ts).
      connect: async (dataSource: DataSource) => {
        const waiting = { log: logger, signal: new AbortController().signal };
        await prepareDatabase(dataSource, config, schema, waiting);
        poolOf(dataSource)?.startServing();
      },
    }),
  };
}
