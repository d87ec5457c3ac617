import { Module } from '@nestjs/common';
import { FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from '../../src/identity.js';
import { PlantChangesModule } from '../../src/plant-changes/plant-changes.module.js';
import { PlantsModule } from '../../src/plants/plants.module.js';
import { GardensModule } from './gardens.module.js';

/** The service with a second resource. */
@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), PlantsModule, PlantChangesModule, GardensModule],
})
export class AppModule {}
