import { Inject, Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Metrics } from '../observability/metrics.js';
import { Readiness } from '../observability/readiness.js';
import type { Observability } from '../observability/observability.module.js';
import { dataSourceOf, dataSourceOptions } from './data-source.js';
import type { DatabaseSchema, DatabaseSettings } from './data-source.js';
import { poolOf } from './connections/bounded-pool.js';
import { Bulkheads } from './bulkheads.js';
import { Statements } from './statements.js';
import { Transactions } from './transactions.js';

const NO_POOL = { used: 0, idle: 0, pending: 0, max: 0 };

@Module({})
export class DatabaseModule {
  constructor(
    @Inject(CONFIG) { identity }: Config,
    dataSource: DataSource,
    metrics: Metrics,
    readiness: Readiness,
  ) {
    // The process has a single pool.
    const pool = { db_client_connection_pool_name: identity.name };
    const use = () => poolOf(dataSource)?.use ?? NO_POOL;
    const name = 'db_client_connection';
    for (const state of ['used', 'idle'] as const) {
      const labels = { ...pool, db_client_connection_state: state };
      metrics.gauge(
        `${name}_count`,
        'Connections of the pool, by state.',
        () => use()[state],
        labels,
      );
    }
    const pending = 'Requests that wait for a connection of the pool.';
    metrics.gauge(`${name}_pending_requests`, pending, () => use().pending, pool);
    const max = 'Maximum number of connections of the pool.';
    metrics.gauge(`${name}_max`, max, () => use().max, pool);
    readiness.addCheck(() =>
      poolOf(dataSource)?.isOnStandby === true ? 'the database is a standby' : undefined,
    );
  }

  static forRoot(
    settings: DatabaseSettings,
    schema: DatabaseSchema,
    observability: Observability,
  ): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({
            ...dataSourceOptions(settings, schema, observability),
            // The start connects with a timeout, while the health port already answers (connect.ts).
            manualInitialization: true,
          }),
          dataSourceFactory: async (options) => dataSourceOf(options!),
        }),
      ],
      providers: [Statements, Bulkheads, Transactions],
      exports: [Statements, Bulkheads, Transactions],
    };
  }
}
