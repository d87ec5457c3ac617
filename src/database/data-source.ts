import pg from 'pg';
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

/** The tables of the database. */
export interface DatabaseSchema {
  /** Classes with `@Entity()`. */
  readonly entities: readonly Function[];
  /** Applied in the order of their timestamps. */
  readonly migrations: readonly (new () => MigrationInterface)[];
}

/** The definition of the database for the service, the migration commands and the tests. */
export function dataSourceOptions(
  { url, poolMax }: DatabaseSettings,
  { entities, migrations }: DatabaseSchema,
  observability: Observability,
) {
  return {
    type: 'postgres',
    url,
    entities: [...entities],
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
