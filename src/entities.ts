import { Plant } from './plants/plant.entity.js';

/** Every table that TypeORM knows; each feature registers its own with `TypeOrmModule.forFeature` as well. */
export const ENTITIES = [Plant] as const;
