import { Module } from '@nestjs/common';
import { FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from './identity.js';
import { PlantChangesModule } from './plant-changes/plant-changes.module.js';
import { PlantsModule } from './plants/plants.module.js';

@Module({ imports: [FrameworkModule.forRoot(IDENTITY), PlantsModule, PlantChangesModule] })
export class AppModule {}
