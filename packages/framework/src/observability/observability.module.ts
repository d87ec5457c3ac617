import { Global, Module, Scope } from '@nestjs/common';
import type pino from 'pino';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { allErrors } from '../errors/error-kind.js';
import { Health } from './health.js';
import { createLogger, LOGGER } from './logger.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';
import { ServedRequests } from './served-requests.js';
import { Logger, serviceLogger } from './service-logger.js';
import { Shutdown } from './shutdown.js';
import { NO_TRACER, TRACER } from './tracer.js';
import type { Tracer } from './tracer.js';

export interface Observability {
  readonly logger: pino.Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

/** Injection token of what the process created before the application. */
export const GIVEN_OBSERVABILITY = Symbol('GIVEN_OBSERVABILITY');

// Tests of modules give none.
const inject = [CONFIG, { token: GIVEN_OBSERVABILITY, optional: true }];

const providers = [
  {
    provide: LOGGER,
    inject,
    useFactory: ({ logLevel }: Config, given?: Observability) =>
      given?.logger ?? createLogger(logLevel),
  },
  {
    provide: Metrics,
    inject,
    useFactory: ({ identity }: Config, given?: Observability) =>
      given?.metrics ?? new Metrics(identity),
  },
  {
    provide: TRACER,
    inject,
    useFactory: (_: Config, given?: Observability) => given?.tracer ?? NO_TRACER,
  },
  {
    provide: Logger,
    // Made only if something injects it.
    scope: Scope.TRANSIENT,
    inject: [LOGGER, { token: ServedRequests, optional: true }],
    useFactory: serviceLogger,
  },
  Readiness,
  Health,
  Shutdown,
];

@Global()
@Module({ providers, exports: providers })
export class ObservabilityModule {
  constructor(metrics: Metrics) {
    for (const { number } of allErrors()) metrics.recordError(number, 0);
  }
}
