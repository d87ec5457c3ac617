import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import { allErrors } from '../errors/error-kind.js';
import { LOGGER } from './logger.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';
import { Shutdown } from './shutdown.js';
import { TRACER } from './tracer.js';
import type { Tracer } from './tracer.js';

/** Created by the process before the application. */
export interface Observability {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

@Module({})
export class ObservabilityModule {
  constructor(metrics: Metrics) {
    for (const { number } of allErrors()) metrics.recordRefusal(number, 0);
  }

  static forRoot({ logger, metrics, tracer }: Observability): DynamicModule {
    const providers = [
      { provide: LOGGER, useValue: logger },
      { provide: Metrics, useValue: metrics },
      { provide: TRACER, useValue: tracer },
      Readiness,
      Shutdown,
    ];
    return { module: ObservabilityModule, global: true, providers, exports: providers };
  }
}
