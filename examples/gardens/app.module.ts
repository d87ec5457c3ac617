import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from '../../src/identity.js';
import { PlantChangesModule } from '../../src/plant-changes/plant-changes.module.js';
import { PlantsModule } from '../../src/plants/plants.module.js';
import { GardensModule } from './gardens.module.js';

/** The service with a second resource. */
@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), PlantsModule, PlantChangesModule, GardensModule],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {}
