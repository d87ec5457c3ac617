import { Global, Module } from '@nestjs/common';
import type { FactoryProvider } from '@nestjs/common';
import type { Logger } from 'pino';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { allErrors } from '../errors/error-kind.js';
import { createTracer } from './create-tracer.js';
import { createLogger, LOGGER } from './logger.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';
import { Shutdown } from './shutdown.js';
import { NO_TRACER, TRACER } from './tracer.js';
import type { Tracer } from './tracer.js';

export interface Observability {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

/** Injection token of what the process created before the application. */
export const GIVEN_OBSERVABILITY = Symbol('GIVEN_OBSERVABILITY');

const OBSERVABILITY = Symbol('OBSERVABILITY');

const providers = [
  {
    provide: OBSERVABILITY,
    inject: [CONFIG, { token: GIVEN_OBSERVABILITY, optional: true }],
    // Tests of modules give none.
    useFactory: ({ identity, logLevel }: Config, given?: Observability): Observability =>
      given ?? {
        logger: createLogger(logLevel),
        metrics: new Metrics(identity),
        tracer: NO_TRACER,
      },
  },
  part(LOGGER, 'logger'),
  part(Metrics, 'metrics'),
  part(TRACER, 'tracer'),
  Readiness,
  Shutdown,
];

@Global()
@Module({ providers, exports: providers })
export class ObservabilityModule {
  constructor(metrics: Metrics) {
    for (const { number } of allErrors()) metrics.recordRefusal(number, 0);
  }
}

/** @param destination default: standard output */
export async function createObservability(
  { identity, logLevel, logFormat }: Config,
  destination?: Parameters<typeof createLogger>[1],
): Promise<Observability> {
  const logger = createLogger(logLevel, destination, logFormat);
  return {
    logger,
    metrics: new Metrics(identity),
    tracer: await createTracer(identity, logger),
  };
}

function part(provide: FactoryProvider['provide'], name: keyof Observability): FactoryProvider {
  const useFactory = (observability: Observability) => observability[name];
  return { provide, inject: [OBSERVABILITY], useFactory };
}
