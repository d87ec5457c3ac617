import type { Request } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';

/**
 * Refuses what lies outside the base path, but not the `*` of OPTIONS, which is no path. Nest answers unknown
 * paths below its prefix only.
 */
export function below(basePath: string) {
  return ({ path }: Request): void => {
    if (path !== '*' && path !== basePath && !path.startsWith(`${basePath}/`)) {
      throw new PlantStoreError('no-such-path');
    }
  };
}
