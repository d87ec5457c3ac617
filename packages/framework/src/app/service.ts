import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Abstract, Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DataSource } from 'typeorm';
import { waitAtMost } from '../bounds/waits.js';
import { createApp } from './app.setup.js';
import type { Create } from './app.setup.js';
import type { ServiceConfig } from '../config/config.js';
import { HTTP_LIMITS } from '../http/server/limits.js';
import type { HttpLimits } from '../http/server/limits.js';
import { DATABASE_LIMITS } from '../database/limits.js';
import type { DatabaseLimits } from '../database/limits.js';
import { poolOf } from '../database/connections/bounded-pool.js';
import type { DatabaseSchema } from '../database/data-source.js';
import { SCHEMA } from '../database/schema.module.js';
import { prepareDatabase } from '../database/migrations/migrate.js';
import type { HttpServer } from '../http/server/http-server.js';
import { addressText, listen } from '../http/server/listen.js';
import { ManagementServer } from '../management/management-server.js';
import type { Observability } from '../observability/observability.module.js';
import { Readiness } from '../observability/readiness.js';
import { Shutdown } from '../observability/shutdown.js';

/** In milliseconds. */
export const SHUTDOWN_LIMITS = {
  /** For running requests. */
  drain: 10_000,
  /** For closing everything else afterwards. */
  close: 5_000,
} as const;

export type ShutdownLimits = Readonly<Record<keyof typeof SHUTDOWN_LIMITS, number>>;

export type ProviderToken<Provider> = Type<Provider> | Abstract<Provider> | string | symbol;

export interface Service {
  readonly address: AddressInfo;
  readonly management: AddressInfo;
  get<Provider>(token: ProviderToken<Provider>): Provider;
  /** Becomes unready, finishes running requests and closes everything. */
  stop(limits?: ShutdownLimits): Promise<void>;
}

/**
 * Starts the management port, then connects to the database, then starts the public port. Probes get a response from the start.
 *
 * @param module imports `FrameworkModule.forRoot(…)`
 * @param signal aborts the wait for the database
 * @throws StartupError
 */
export async function startService(
  module: Type,
  config: ServiceConfig,
  observability: Observability,
  signal: AbortSignal,
  limits: HttpLimits = HTTP_LIMITS,
  databaseLimits: DatabaseLimits = DATABASE_LIMITS,
  create?: Create,
): Promise<Service> {
  const app = await createApp(module, config, observability, limits, databaseLimits, create);
  const { logger } = observability;
  const readiness = app.get(Readiness);
  try {
    const management = await listen(app.get(ManagementServer).server, {
      ...config.management,
      variables: { host: 'MANAGEMENT_HOST', port: 'MANAGEMENT_PORT' },
    });
    logger.info({ management: addressText(management) }, 'starting');
    const dataSource = app.get(DataSource);
    const waiting = { log: logger, signal, onWait: (reason: string) => readiness.notReady(reason) };
    await prepareDatabase(dataSource, config, app.get<DatabaseSchema>(SCHEMA), waiting);
    readiness.notReady('starting');
    // Only now, because hooks of modules may use repositories.
    await app.init();
    poolOf(dataSource)?.startServing();
    // `app.listen()` would log errors a second time.
    const address = await listen(app.getHttpServer(), {
      ...config.http,
      variables: { host: 'HOST', port: 'PORT' },
    });
    readiness.ready();
    return {
      address,
      management,
      get: (token) => app.get(token),
      stop: (shutdownLimits) => stop(app, config, shutdownLimits),
    };
  } catch (error) {
    await close(app, SHUTDOWN_LIMITS);
    throw error;
  }
}

async function stop(
  app: NestExpressApplication,
  { shutdownDelay }: ServiceConfig,
  limits: ShutdownLimits = SHUTDOWN_LIMITS,
): Promise<void> {
  app.get(Readiness).notReady('shutting down');
  await sleep(shutdownDelay);
  app.get(Shutdown).abort();
  await (app.getHttpServer() as HttpServer).drain(limits.drain);
  await close(app, limits);
}

async function close(app: NestExpressApplication, limits: ShutdownLimits): Promise<void> {
  // The pool would wait for a statement that hangs.
  await waitAtMost(limits.close, app.close());
  await app.get(ManagementServer).close();
}
