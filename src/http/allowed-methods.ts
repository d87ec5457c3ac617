import type { Express, NextFunction, Request, Response } from 'express';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** Answers OPTIONS with the methods of the path, or of all paths for `*` (RFC 9110, section 9.3.7). */
export function answerOptions(request: Request, response: Response, next: NextFunction): void {
  const allowed = request.method === 'OPTIONS' ? allowedMethods(request) : [];
  if (allowed.length === 0) return next();
  response.setHeader('Allow', allowed.join(', '));
  response.status(204).end();
}

/** The failure of a request that no route matches: 404 or 405. */
export function unroutable(request: Request): PlantStoreError {
  const allowed = allowedMethods(request);
  return allowed.length === 0
    ? new PlantStoreError('no-such-path')
    : new MethodNotAllowedError(allowed);
}

/** A layer of Express's router (package `router`, whose types lack `match`). */
type RouterLayer = Pick<Express['router']['stack'][number], 'route'> & {
  match(path: string): boolean;
};

/** The methods of all routes at the path of the request, as Express would match them. */
function allowedMethods({ app, originalUrl }: Request): readonly string[] {
  // `request.path` lacks the base path if a router is mounted below it.
  const path = originalUrl.replace(/^https?:\/\/[^/]*/i, '').split('?', 1)[0] || '/';
  const methods = new Set<string>();
  for (const layer of app.router.stack as unknown as readonly RouterLayer[]) {
    if (layer.route && (path === '*' || layer.match(path))) {
      for (const method of layer.route.stack) methods.add(method.method.toUpperCase());
    }
  }
  if (methods.size === 0) return [];
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods.add('OPTIONS')].toSorted();
}
