import pg from 'pg';
import { getMetadataArgsStorage } from 'typeorm';
import type { DataSourceOptions, Logger, MigrationInterface } from 'typeorm';
import type { Observability } from '../observability/observability.module.js';
import { BoundedPool } from './connections/bounded-pool.js';
import { DATABASE_LIMITS } from './limits.js';

/** TypeORM prints some failures even with `logging: false`. The code that handles them reports them. */
const SILENT: Logger = {
  log: () => {},
  logMigration: () => {},
  logQuery: () => {},
  logQueryError: () => {},
  logQuerySlow: () => {},
  logSchemaBuild: () => {},
};

export interface DatabaseSettings {
  readonly url: string;
  readonly poolMax: number;
}

export type Migrations = readonly (new () => MigrationInterface)[];

/** The definition of the database for the service, the migration commands and the tests. */
export function dataSourceOptions(
  { url, poolMax }: DatabaseSettings,
  migrations: Migrations,
  observability: Observability,
) {
  return {
    type: 'postgres',
    url,
    // All classes with @Entity() in the modules that have been loaded.
    entities: getMetadataArgsStorage().tables.map(({ target }) => target),
    migrations: [...migrations],
    migrationsTableName: 'plant_store_migrations',
    synchronize: false,
    logger: SILENT,
    installExtensions: false,
    applicationName: 'plant-store',
    poolSize: poolMax,
    connectTimeoutMS: DATABASE_LIMITS.connection,
    driver: { ...pg, Pool: BoundedPool },
    extra: {
      observability,
      idleTimeoutMillis: DATABASE_LIMITS.idle,
      keepAlive: true,
      replyTimeout: DATABASE_LIMITS.reply,
      // The parts of a transaction for a pooler are sent at once.
      pipeline: true,
    },
  } as const satisfies DataSourceOptions;
}
