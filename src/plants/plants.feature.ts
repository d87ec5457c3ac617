import type { Feature } from '../resources/feature.js';
import { historyFunctions } from '../resources/history/history-schema.js';
import { CreatePlants1763683200000 } from './migrations/1763683200000-create-plants.js';
import { DistributeTables1795305600000 } from './migrations/1795305600000-distribute-tables.js';
import { IndexPlants1795309200000 } from './migrations/1795309200000-index-plants.js';
import { IndexNames1795392000000 } from './migrations/1795392000000-index-names.js';
import { CleanNames1795482000000 } from './migrations/1795482000000-clean-names.js';
import { CreatePlantChanges1795564800000 } from './migrations/1795564800000-create-plant-changes.js';
import { UpgradePlantChanges1795636800000 } from './migrations/1795636800000-upgrade-plant-changes.js';
import { PlantChange } from './plant-change.entity.js';
import { PlantChangesModule } from './plant-changes.module.js';
import { Plant } from './plant.entity.js';
import { PlantsModule } from './plants.module.js';

export const PLANTS: Feature = {
  module: PlantsModule,
  entities: [Plant, PlantChange],
  migrations: [
    CreatePlants1763683200000,
    DistributeTables1795305600000,
    IndexPlants1795309200000,
    IndexNames1795392000000,
    CleanNames1795482000000,
    CreatePlantChanges1795564800000,
    UpgradePlantChanges1795636800000,
  ],
  functions: ['clean_plants_name_search_idx()', ...historyFunctions('plant_changes')],
  // The records can only be added to. A function removes the old ones.
  privileges: new Map([[PlantChange, ['SELECT', 'INSERT']]]),
};

/** The operations on the records of changes. */
export const PLANT_CHANGES: Feature = {
  module: PlantChangesModule,
  isEnabled: ({ changes }) => changes.enabled !== false,
  entities: [],
  migrations: [],
};
