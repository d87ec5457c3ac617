import type { NextFunction, Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** Refuses what lies outside the base path. Nest answers unknown paths below its prefix only. */
export function below(basePath: string) {
  return ({ path }: Request, _response: Response, next: NextFunction): void => {
    if (path === basePath || path.startsWith(`${basePath}/`)) next();
    else next(new PlantStoreError('no-such-path'));
  };
}
