import type { DataSourceOptions, Logger } from 'typeorm';
import { PoolClient } from './pool-client.js';
import { CreatePlants1763683200000 } from './migrations/1763683200000-create-plants.js';

/** The bounds of everything the database is waited for, in milliseconds. */
export const DATABASE_LIMITS = {
  /** For a connection: a new one, or one of the pool. */
  connection: 2_000,
  /** For one statement, by the server's clock. */
  statement: 5_000,
  /** For one statement, by our own: the server may hang, or be gone without a word. */
  reply: 6_000,
  /** For an unused connection to be closed. */
  idle: 30_000,
} as const;

/** TypeORM prints some failures even with `logging: false`. They are reported where they are handled. */
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
  readonly entities: readonly (new () => object)[];
}

/** The one definition of the database, for the service, the migration commands and the tests. */
export function dataSourceOptions({ url, poolMax, entities }: DatabaseSettings) {
  return {
    type: 'postgres',
    url,
    entities: [...entities],
    migrations: [CreatePlants1763683200000],
    migrationsTableName: 'plant_store_migrations',
    synchronize: false,
    logger: SILENT,
    installExtensions: false,
    applicationName: 'plant-store',
    poolSize: poolMax,
    connectTimeoutMS: DATABASE_LIMITS.connection,
    extra: {
      Client: PoolClient,
      onConnect: (client: PoolClient) => client.adoptSession(DATABASE_LIMITS.statement),
      idleTimeoutMillis: DATABASE_LIMITS.idle,
      keepAlive: true,
      query_timeout: DATABASE_LIMITS.reply,
      // In this mode a statement that is not answered in time takes its connection with it, instead
      // of leaving it to the next user of the pool, who would wait behind that statement.
      pipeline: true,
    },
  } as const satisfies DataSourceOptions;
}
