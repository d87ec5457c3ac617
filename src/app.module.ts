import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import type { ServiceConfig } from './config/config.js';
import { CatalogueModule } from './catalogue/catalogue.module.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './http/error.filter.js';
import { DtoPipe } from './http/dto.pipe.js';
import { HttpModule } from './http/http.module.js';
import { ObservabilityModule } from './observability/observability.module.js';
import type { Observability } from './observability/observability.module.js';
import { PlantsModule } from './plants/plants.module.js';
import { TransferModule } from './transfer/transfer.module.js';

@Module({})
export class AppModule {
  static forRoot(config: ServiceConfig, observability: Observability): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        ObservabilityModule.forRoot(observability),
        DatabaseModule.forRoot(config.database, observability),
        HttpModule,
        AuthModule,
        // Before the modules with `plants/:id`, because Express takes the first route that matches.
        TransferModule,
        PlantsModule,
        CatalogueModule,
      ],
      providers: [
        { provide: APP_PIPE, useClass: DtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
