import type { Express, NextFunction, Request, Response } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { PATCH_TYPES } from '../body/json-body.js';

/**
 * Responds to OPTIONS with the methods of the path, or of all paths for `*` (RFC 9110, section 9.3.7), and with the media
 * types of PATCH (RFC 5789, section 3.1).
 */
export function respondToOptions(request: Request, response: Response, next: NextFunction): void {
  const allowed = request.method === 'OPTIONS' ? allowedMethods(request) : [];
  if (allowed.length === 0) return next();
  response.setHeader('Allow', allowed.join(', '));
  if (allowed.includes('PATCH')) response.setHeader('Accept-Patch', PATCH_TYPES.join(', '));
  response.status(204).end();
}

/** Rejects requests outside the base path, except `OPTIONS *`: Nest handles unknown paths only below its global prefix. */
export function requireBasePath(basePath: string) {
  return ({ path }: Request): void => {
    if (path !== '*' && path !== basePath && !path.startsWith(`${basePath}/`)) {
      throw new ServiceException(ERRORS.noSuchPath);
    }
  };
}

export function unroutable(request: Request): ServiceException {
  const allowed = allowedMethods(request);
  return allowed.length === 0 ? new ServiceException(ERRORS.noSuchPath) : methodNotAllowed(allowed);
}

/** With the `Allow` header field (RFC 9110, section 15.5.6). */
export function methodNotAllowed(allowed: readonly string[]): ServiceException {
  const headers = { Allow: allowed.join(', ') };
  return new ServiceException(ERRORS.methodNotAllowed, undefined, { headers });
}

/** A layer with a route in Express's router, whose types lack `match`. */
interface RoutedLayer {
  readonly route: NonNullable<Express['router']['stack'][number]['route']>;
  match(path: string): boolean;
}

/**
 * Makes Express skip a route with a parameter if another route has exactly the path of the request: `GET /…/import` gets 405
 * instead of looking up an id `import`. To be called when all routes are known.
 */
export function preferLiteralPaths(app: Express): void {
  const paths = routesOf(app).map(({ route }) => route.path);
  const literal = new Set(paths.filter((path) => !/[:*]/.test(path)));
  const names = new Set(paths.flatMap((path) => path.match(/(?<=:)\w+/g) ?? []));
  for (const name of names) {
    app.param(name, (request, _response, next) => {
      next(literal.has(request.path) ? 'route' : undefined);
    });
  }
}

function routesOf(app: Express): readonly RoutedLayer[] {
  const routed = app.router.stack.filter(({ route }) => route !== undefined);
  return routed as unknown as readonly RoutedLayer[];
}

function allowedMethods(request: Request): readonly string[] {
  // `request.path` lacks the base path if a router is mounted below it.
  const path = request.originalUrl.replace(/^https?:\/\/[^/]*/i, '').split('?', 1)[0] || '/';
  const matching = routesOf(request.app as Express).filter(
    (layer) => path === '*' || layer.match(path),
  );
  const literal = matching.filter(({ route }) => route.path === path);
  const methods = new Set(
    (literal.length > 0 ? literal : matching).flatMap(({ route }) =>
      route.stack.map(({ method }) => method.toUpperCase()),
    ),
  );
  if (methods.size === 0) return [];
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods.add('OPTIONS')].toSorted();
}
