import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/** Rejects requests outside the base path, except `OPTIONS *`: Nest handles unknown paths only below its global prefix. */
export function requireBasePath(basePath: string) {
  return ({ path }: Request): void => {
    if (path !== '*' && path !== basePath && !path.startsWith(`${basePath}/`)) {
      throw new ServiceException(ERRORS.noSuchPath);
    }
  };
}
