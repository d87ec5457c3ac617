import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import { Draining } from './draining.js';
import { LOGGER } from './logger.js';
import { ManagementServer } from './management-server.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

@Module({})
export class OperationsModule {
  static forRoot(logger: Logger, metrics: Metrics): DynamicModule {
    const providers = [
      { provide: LOGGER, useValue: logger },
      Draining,
      ManagementServer,
      { provide: Metrics, useValue: metrics },
      Readiness,
    ];
    return { module: OperationsModule, global: true, providers, exports: providers };
  }
}
