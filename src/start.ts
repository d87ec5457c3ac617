import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { isLocalToken, readConfig, withDatabase } from './config/config.js';
import type { ServiceConfig } from './config/config.js';
import { IDENTITY } from './identity.js';
import { startLocalInstance } from './local/local-instance.js';
import { bufferedStdout, createLogger } from './observability/logger.js';
import { Metrics } from './observability/metrics.js';
import type { Observability } from './observability/observability.module.js';
import { createTracer } from './observability/create-tracer.js';
import { addressText } from './http/server/listen.js';
import { localAddress, welcome } from './local/welcome.js';
import { runProgram } from './run-program.js';

// By default, V8 lets the old generation grow to four times its live size before a major garbage collection. V8 reads
// the flag at each collection, so it can be set after the start.
setFlagsFromString('--heap-growing-percent=30');

process.exit(await runProgram(IDENTITY, run));

async function run(signal: AbortSignal): Promise<void> {
  const config = readConfig(IDENTITY, process.env);
  const logger = createLogger(
    config.logLevel,
    process.stdout.isTTY ? undefined : bufferedStdout(),
    config.logFormat,
  );
  const observability = {
    logger,
    metrics: new Metrics(IDENTITY),
    tracer: await createTracer(IDENTITY, logger),
  };
  const { url } = config.database;
  if (url !== undefined) {
    return serve(withDatabase(config, url), observability, signal, (address) =>
      isLocalToken(IDENTITY, config.auth.token) ? welcome(config, address) : '',
    );
  }
  // Loading the service takes as long as starting the database, so both run at once.
  const [local] = await Promise.all([
    startLocalInstance(config, logger, signal),
    import('./service.js'),
  ]);
  try {
    await serve(local.config, observability, signal, (address) => local.welcome(address));
  } finally {
    await local.stop();
  }
}

async function serve(
  config: ServiceConfig,
  observability: Observability,
  signal: AbortSignal,
  announcement: (address: AddressInfo) => string,
): Promise<void> {
  const { startService } = await import('./service.js');
  const service = await unlessAborted(startService(config, observability, signal), signal);
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

/** Stops waiting for `work` when the signal aborts. The work itself, for example a migration, is not awaited. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  return Promise.race([work, aborted.then(() => Promise.reject(signal.reason as Error))]);
}
