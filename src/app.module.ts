import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import type { Logger } from 'pino';
import { AuthModule } from './auth/auth.module.js';
import type { ServiceConfig } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './errors/error.filter.js';
import { BodyValidationPipe } from './http/body-validation.pipe.js';
import type { Metrics } from './operations/metrics.js';
import { OperationsModule } from './operations/operations.module.js';
import { PlantsModule } from './plants/plants.module.js';

@Module({})
export class AppModule {
  static forRoot(config: ServiceConfig, logger: Logger, metrics: Metrics): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        OperationsModule.forRoot(logger, metrics),
        DatabaseModule,
        AuthModule,
        PlantsModule,
      ],
      providers: [
        { provide: APP_PIPE, useClass: BodyValidationPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
