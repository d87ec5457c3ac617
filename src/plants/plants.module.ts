import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { CreatePlants1763683200000 } from './migrations/1763683200000-create-plants.js';
import { DistributeTables1795305600000 } from './migrations/1795305600000-distribute-tables.js';
import { IndexPlants1795309200000 } from './migrations/1795309200000-index-plants.js';
import { IndexNames1795392000000 } from './migrations/1795392000000-index-names.js';
import { CleanNames1795482000000 } from './migrations/1795482000000-clean-names.js';
import { CreatePlantChanges1795564800000 } from './migrations/1795564800000-create-plant-changes.js';
import { UpgradePlantChanges1795636800000 } from './migrations/1795636800000-upgrade-plant-changes.js';
import { SortPlants1795809600000 } from './migrations/1795809600000-sort-plants.js';
import { AddIncarnations1795813200000 } from './migrations/1795813200000-add-incarnations.js';
import { PlantChange } from './plant-change.entity.js';
import { Plant } from './plant.entity.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

@Module({
  imports: [
    ResourceModule.forFeature([Plant, PlantChange], {
      migrations: [
        CreatePlants1763683200000,
        DistributeTables1795305600000,
        IndexPlants1795309200000,
        IndexNames1795392000000,
        CleanNames1795482000000,
        CreatePlantChanges1795564800000,
        UpgradePlantChanges1795636800000,
        SortPlants1795809600000,
        AddIncarnations1795813200000,
      ],
      functions: ['clean_plants_name_search_idx()'],
    }),
  ],
  controllers: [PlantsController],
  providers: [PlantsService, PlantsRepository],
  exports: [PlantsRepository],
})
export class PlantsModule {}
