import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';

/**
 * Refuses requests outside the base path, except `OPTIONS *`. Nest would answer unknown paths only below its global
 * prefix.
 */
export function requireBasePath(basePath: string) {
  return ({ path }: Request): void => {
    if (path !== '*' && path !== basePath && !path.startsWith(`${basePath}/`)) {
      throw new PlantStoreError(ERRORS.noSuchPath);
    }
  };
}
