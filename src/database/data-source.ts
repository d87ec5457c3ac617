import pg from 'pg';
import { getMetadataArgsStorage } from 'typeorm';
import type { DataSourceOptions, Logger } from 'typeorm';
import type { Observability } from '../observability/observability.module.js';
import { BoundedPool } from './bounded-pool.js';
import { DATABASE_LIMITS } from './limits.js';
import { CreatePlants1763683200000 } from './migrations/1763683200000-create-plants.js';
import { DistributeTables1795305600000 } from './migrations/1795305600000-distribute-tables.js';
import { IndexPlants1795309200000 } from './migrations/1795309200000-index-plants.js';
import { IndexNames1795392000000 } from './migrations/1795392000000-index-names.js';

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

/** The definition of the database for the service, the migration commands and the tests. */
export function dataSourceOptions(
  { url, poolMax }: DatabaseSettings,
  observability: Observability,
) {
  return {
    type: 'postgres',
    url,
    // All classes with @Entity() in the modules that have been loaded.
    entities: getMetadataArgsStorage().tables.map(({ target }) => target),
    migrations: [
      CreatePlants1763683200000,
      DistributeTables1795305600000,
      IndexPlants1795309200000,
      IndexNames1795392000000,
    ],
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
