import { Module } from '@nestjs/common';
import { FeedModule } from '@resource-service/changes';
import { StoredPlantDto } from '../plants/dto/plant.dto.js';
import { PlantsModule } from '../plants/plants.module.js';
import { PlantsRepository } from '../plants/plants.repository.js';

@Module({
  imports: [
    FeedModule.forFeature({
      module: PlantsModule,
      repository: PlantsRepository,
      path: 'changes',
      scope: 'changes:read',
      one: 'a plant',
      plural: 'plants',
      property: 'plant',
      stored: StoredPlantDto,
      schema: 'PlantChange',
      operationIds: ['listChanges', 'getLatestPosition'],
      example: { id: 1001, name: 'Monstera', tag: 'indoor' },
    }),
  ],
})
export class PlantChangesModule {}
