import { PLANT_CHANGES, PLANTS } from './plants/plants.feature.js';
import type { Feature } from './resources/feature.js';

/** What the service consists of, besides the framework. */
export const FEATURES: readonly Feature[] = [PLANTS, PLANT_CHANGES];
