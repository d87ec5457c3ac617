import pg from 'pg';
import type { Logger } from 'pino';
import {
  AbstractLogger,
  DataSource,
  DefaultNamingStrategy,
  getMetadataArgsStorage,
  QueryFailedError,
} from 'typeorm';
import type { DataSourceOptions, EntityMetadata, MigrationInterface, QueryRunner } from 'typeorm';
import { snakeCase } from '../config/identity.js';
import type { Identity } from '../config/identity.js';
import type { Secret } from '../config/secret-file.js';
import type { Tracer } from '../observability/tracer.js';
import { BoundedPool } from './connections/bounded-pool.js';
import { DATABASE_LIMITS } from './limits.js';
import type { DatabaseLimits } from './limits.js';

/** TypeORM prints some errors even with `logging: false`. The code that handles them reports them. */
class SilentLogger extends AbstractLogger {
  protected override writeLog(): void {}
}

export interface DatabaseSettings {
  readonly identity: Identity;
  readonly url: Secret<string>;
  /** With the tables of the service, in front of the search path. */
  readonly schema?: string | undefined;
  readonly poolMax: number;
  readonly logger: Logger;
  readonly tracer: Tracer;
  readonly limits?: DatabaseLimits | undefined;
}

/** On the rows of a table (PostgreSQL manual, chapter 5.8). */
export type Privilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

export interface DatabaseSchema {
  readonly entities: readonly Function[];
  /** The names of the modules of the entities. */
  readonly owners?: ReadonlyMap<Function, string>;
  /** Applied in the order of their timestamps. */
  readonly migrations: readonly (new () => MigrationInterface)[];
  /** Of the service's role on the tables of these entities, by default SELECT, INSERT, UPDATE and DELETE. */
  readonly privileges?: ReadonlyMap<Function | string, readonly Privilege[]>;
  /** Functions of SQL that the service calls, such as `move_tools()`. */
  readonly functions?: readonly string[];
}

export function dataSourceOptions(
  { identity, url, schema, poolMax, logger, tracer, limits = DATABASE_LIMITS }: DatabaseSettings,
  { entities, migrations }: DatabaseSchema,
) {
  const migrationsTableName = `${snakeCase(identity)}_migrations`;
  return {
    type: 'postgres',
    url: url.value,
    entities: [...entities],
    migrations: [...migrations],
    migrationsTableName,
    synchronize: false,
    logger: new SilentLogger(),
    installExtensions: false,
    applicationName: identity.name,
    poolSize: poolMax,
    connectTimeoutMS: limits.connection,
    driver: { ...pg, Pool: BoundedPool },
    extra: {
      logger,
      tracer,
      url,
      schema,
      /** In the first schema of the search path. */
      tables: [migrationsTableName, ...tableNames(entities)],
      idleTimeoutMillis: limits.idle,
      maxLifetimeSeconds: limits.lifetime / 1_000,
      keepAlive: true,
      limits,
    },
  } as const satisfies DataSourceOptions;
}

/** Without tables that have a schema of their own. */
export function tableNames(entities: readonly Function[]): readonly string[] {
  const naming = new DefaultNamingStrategy();
  return getMetadataArgsStorage()
    .tables.filter(
      ({ target, schema }) => schema === undefined && entities.includes(target as Function),
    )
    .map(({ target, name }) => naming.tableName((target as Function).name, name));
}

type Extra = ReturnType<typeof dataSourceOptions>['extra'];

export function extraOf({ options }: DataSource): Extra {
  return (options as { readonly extra: Extra }).extra;
}

/**
 * A DataSource, not connected yet, that throws the errors of the driver and of the pool unchanged. TypeORM would wrap
 * each in an error that contains the statement.
 */
export function dataSourceOf(options: DataSourceOptions): DataSource {
  const dataSource = new DataSource(options);
  const { driver } = dataSource;
  const { schema } = (options as { readonly extra?: Partial<Extra> }).extra ?? {};
  // TypeORM would ask for it once, when it may not exist yet.
  if (schema !== undefined) Object.assign(driver, { schema, searchSchema: schema });
  const create = driver.createQueryRunner.bind(driver);
  const createQueryRunner: typeof create = (mode) =>
    passErrorsOn(create(mode) as PostgresQueryRunner);
  Object.assign(driver, { createQueryRunner });
  return dataSource;
}

/** The table of an entity as an identifier of SQL, with its schema if it has one. */
export function tableOf({ driver }: DataSource, { tablePath }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}

interface PostgresQueryRunner extends QueryRunner {
  /** Private in TypeORM. Called with an error when the connection breaks while no statement runs. */
  releasePostgresConnection(error?: Error): Promise<void>;
}

function passErrorsOn(runner: PostgresQueryRunner): QueryRunner {
  const query = runner.query.bind(runner) as (...parts: unknown[]) => Promise<never>;
  const release = runner.releasePostgresConnection.bind(runner);
  return Object.assign(runner, {
    query: async (...parts: unknown[]) => {
      try {
        return await query(...parts);
      } catch (error) {
        throw error instanceof QueryFailedError ? error.driverError : error;
      }
    },
    // A broken connection stays with its user until the release, so that the next statement fails like any other on a
    // broken connection. TypeORM would say that the runner is released already, as if the service had a bug.
    releasePostgresConnection: async (error?: Error) => {
      if (error === undefined) await release();
    },
  });
}
