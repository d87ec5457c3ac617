import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule } from '@resource-service/framework';
import { WebhooksModule } from '@resource-service/webhooks';
import { IDENTITY } from './identity.js';
import { PlantChangesModule } from './plant-changes/plant-changes.module.js';
import { PlantsModule } from './plants/plants.module.js';

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY),
    PlantsModule,
    PlantChangesModule,
    WebhooksModule.forRoot(),
  ],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {}
