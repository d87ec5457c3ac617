import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DataSource } from 'typeorm';
import { createApp } from './app.setup.js';
import type { ServiceConfig } from './config/config.js';
import { HTTP_LIMITS } from './http/limits.js';
import type { HttpLimits } from './http/limits.js';
import { poolOf } from './database/bounded-pool.js';
import { connect } from './database/connect.js';
import { applyMigrations, awaitMigrations } from './database/migrate.js';
import { Draining } from './http/draining.js';
import { listen } from './http/listen.js';
import { ManagementServer } from './http/management-server.js';
import type { Observability } from './observability/observability.module.js';
import { Readiness } from './observability/readiness.js';

/** The bounds of shutting down, in milliseconds. */
export const SHUTDOWN_LIMITS = {
  /** For requests that are under way. */
  drain: 10_000,
  /** For everything to be closed afterwards. */
  close: 5_000,
} as const;

export type ShutdownLimits = Readonly<Record<keyof typeof SHUTDOWN_LIMITS, number>>;

/** A service that listens. */
export interface Service {
  readonly address: AddressInfo;
  readonly management: AddressInfo;
  /** Is not ready any more, answers what is under way and closes everything, within the bounds. */
  stop(limits?: ShutdownLimits): Promise<void>;
}

/**
 * Brings the service up: the management port first, so that probes are answered from the beginning,
 * then the database, then the public port.
 *
 * @param signal ends the waiting for the database
 * @throws StartupError
 */
export async function startService(
  config: ServiceConfig,
  observability: Observability,
  signal: AbortSignal,
  limits: HttpLimits = HTTP_LIMITS,
): Promise<Service> {
  const app = await createApp(config, observability, limits);
  const { logger } = observability;
  const managementServer = app.get(ManagementServer);
  try {
    const management = await listen(managementServer.server, {
      ...config.management,
      variables: { host: 'MANAGEMENT_HOST', port: 'MANAGEMENT_PORT' },
    });
    // Said at once, because a start can wait for its database, and probes are answered meanwhile.
    logger.info({ management: `${management.address}:${management.port}` }, 'starting');
    const dataSource = app.get(DataSource);
    const waiting = {
      log: logger,
      signal,
      onWait: (reason: string) => app.get(Readiness).notReady(reason),
    };
    await connect(dataSource, waiting);
    app.get(Readiness).notReady('waiting for the migrations');
    if (config.database.migrateOnStart) await applyMigrations(dataSource, waiting);
    else await awaitMigrations(dataSource, waiting);
    poolOf(dataSource)?.startServing();
    // Not `app.listen()`, which logs a failure as well.
    const address = await listen(app.getHttpServer(), {
      ...config.http,
      variables: { host: 'HOST', port: 'PORT' },
    });
    app.get(Readiness).ready();
    return { address, management, stop: (shutdownLimits) => stop(app, config, shutdownLimits) };
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
  await app.get(Draining).drain(app.getHttpServer(), limits.drain);
  await close(app, limits);
}

async function close(app: NestExpressApplication, limits: ShutdownLimits): Promise<void> {
  // A statement that hangs holds its connection, and the pool waits for all of them.
  await Promise.race([app.close(), sleep(limits.close, undefined, { ref: false })]);
  await app.get(ManagementServer).close();
}
