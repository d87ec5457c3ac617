import type { Feature } from '../../src/resources/feature.js';
import { Garden } from './garden.entity.js';
import { GardensModule } from './gardens.module.js';
import { CreateGardens1795395600000 } from './migrations/1795395600000-create-gardens.js';

export const GARDENS: Feature = {
  module: GardensModule,
  entities: [Garden],
  migrations: [CreateGardens1795395600000],
};
