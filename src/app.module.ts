import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import type { ServiceConfig } from './config/config.js';
import { secretOf } from './config/secret-file.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './http/errors/error.filter.js';
import { DtoPipe } from './http/body/dto.pipe.js';
import { ManagementServer } from './management/management-server.js';
import { ObservabilityModule } from './observability/observability.module.js';
import type { Observability } from './observability/observability.module.js';
import { schemaOf } from './resources/feature.js';
import type { Feature } from './resources/feature.js';
import { ResourcesModule } from './resources/resources.module.js';

@Module({})
export class AppModule {
  static forRoot(
    config: ServiceConfig,
    observability: Observability,
    features: readonly Feature[],
  ): DynamicModule {
    const { url, poolMax } = config.database;
    const database = {
      identity: config.identity,
      url: secretOf('DATABASE_URL', url, config, observability.logger),
      poolMax,
    };
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        ObservabilityModule.forRoot(observability),
        DatabaseModule.forRoot(database, schemaOf(features), observability),
        AuthModule,
        ResourcesModule,
        ...features
          .filter(({ isEnabled = () => true }) => isEnabled(config))
          .map(({ module }) => module),
      ],
      providers: [
        ManagementServer,
        { provide: APP_PIPE, useClass: DtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
