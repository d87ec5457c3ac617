import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Metrics } from '../observability/metrics.js';
import { Readiness } from '../observability/readiness.js';
import type { Observability } from '../observability/observability.module.js';
import { dataSourceOf, dataSourceOptions } from './data-source.js';
import type { DatabaseSchema, DatabaseSettings } from './data-source.js';
import { poolOf } from './connections/bounded-pool.js';
import { ConnectionShares } from './connection-shares.js';
import { Statements } from './statements.js';
import { Transactions } from './transactions.js';

const NO_POOL = { used: 0, idle: 0, pending: 0, max: 0 };

@Module({})
export class DatabaseModule {
  constructor(dataSource: DataSource, metrics: Metrics, readiness: Readiness) {
    metrics.observePool(() => poolOf(dataSource)?.use ?? NO_POOL);
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
      providers: [Statements, ConnectionShares, Transactions],
      exports: [Statements, ConnectionShares, Transactions],
    };
  }
}
