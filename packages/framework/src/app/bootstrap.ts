import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { Type } from '@nestjs/common';
import { unlessAborted } from '../bounds/waits.js';
import { isPublicToken, readConfig, withDatabase } from '../config/config.js';
import type { ServiceConfig } from '../config/config.js';
import { serviceModuleOf } from './framework.module.js';
import { localConfig, onLocalInstance } from '../local.js';
import { createTracer } from '../observability/create-tracer.js';
import { bufferedStdout, createLogger } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import type { Observability } from '../observability/observability.module.js';
import { addressText } from '../http/server/listen.js';
import { runProgram } from './run-program.js';
import { startService } from './service.js';
import { localAddress, welcome } from './welcome.js';

/**
 * Runs a service until a signal ends it, and exits. Without `DATABASE_URL`, it runs on the PostgreSQL of `@resource-service/local`,
 * which is for development.
 *
 * @param app imports `FrameworkModule.forRoot(…)`
 *
 * @example await bootstrap(AppModule);
 */
export async function bootstrap(app: Type): Promise<never> {
  // By default, the old generation grows to four times its live size before a major garbage collection. V8 reads the flag at
  // each collection.
  setFlagsFromString('--heap-growing-percent=30');
  const { identity } = serviceModuleOf(app);
  process.exit(await runProgram(identity, (signal) => run(app, signal)));
}

async function run(app: Type, signal: AbortSignal): Promise<void> {
  const { identity, variables, hasVerifiers } = serviceModuleOf(app);
  const config = readConfig(identity, process.env, variables, hasVerifiers);
  const destination = process.stdout.isTTY ? undefined : bufferedStdout();
  const logger = createLogger(config.logLevel, destination, config.logFormat);
  const observability = {
    logger,
    metrics: new Metrics(identity),
    tracer: await createTracer(identity, logger),
  };
  const { url } = config.database;
  if (url !== undefined) {
    return serve(app, withDatabase(config, url), observability, signal, (address) =>
      isPublicToken(config) ? welcome(config, address) : '',
    );
  }
  await onLocalInstance(identity, logger, signal, async (local) => {
    const own = await localConfig(config, local, variables);
    await serve(app, own, observability, signal, (address) => welcome(own, address));
  });
}

async function serve(
  app: Type,
  config: ServiceConfig,
  observability: Observability,
  signal: AbortSignal,
  announcement: (address: AddressInfo) => string,
): Promise<void> {
  // A migration ignores the signal.
  const service = await unlessAborted(signal, startService(app, config, observability, signal));
  const { logger, tracer } = observability;
  const { address, management } = service;
  const { publicBaseUrl, docsEnabled } = config.http;
  const base = publicBaseUrl ?? localAddress(config.http, address);
  logger.info(
    {
      address: addressText(address),
      management: addressText(management),
      ...(docsEnabled && { docs: `${base}/docs` }),
    },
    'listening',
  );
  process.stdout.write(announcement(address));
  if (!signal.aborted) await once(signal, 'abort');
  logger.info('shutting down');
  await service.stop();
  await tracer.stop();
  logger.info('stopped');
}
