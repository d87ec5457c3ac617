import { Module } from '@nestjs/common';
import { PlantChangesController } from './plant-changes.controller.js';
import { PlantChangesService } from './plant-changes.service.js';
import { PlantsModule } from './plants.module.js';

@Module({
  imports: [PlantsModule],
  controllers: [PlantChangesController],
  providers: [PlantChangesService],
})
export class PlantChangesModule {}
