import { PLANT_CHANGES, PLANTS } from '../../src/plants/plants.feature.js';
import type { Feature } from '../../src/resources/feature.js';
import { GARDENS } from './gardens.feature.js';

/** The example is the service with a second resource: it is built with this file in place of `src/features.ts`. */
export const FEATURES: readonly Feature[] = [PLANTS, PLANT_CHANGES, GARDENS];
