import type { INestApplication, Type } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { AuthGuard } from '../auth/auth.guard.js';
import { DtoPipe } from '../http/body/dto.pipe.js';
import { ErrorFilter } from '../http/errors/error.filter.js';

/**
 * An application lists the guard, the pipe and the filter of the framework, each before others of its kind. Then no other guard
 * sees a request without a valid token, no other pipe a body without validation, and the filter is the last resort, because Nest
 * calls global filters from the last to the first. Nest collects the providers of the application before the providers of imported
 * modules, and request-scoped providers last.
 */
export function enhancerMistakes(app: INestApplication, { name }: Type): readonly string[] {
  const { config } = app as unknown as { readonly config: ApplicationConfig };
  return [
    mistakeIn(config.getGlobalGuards(), 'APP_GUARD', AuthGuard),
    mistakeIn(config.getGlobalPipes(), 'APP_PIPE', DtoPipe),
    mistakeIn(config.getGlobalFilters(), 'APP_FILTER', ErrorFilter),
  ].flatMap((mistake) => (mistake === undefined ? [] : `${name} ${mistake}`));
}

function mistakeIn(found: readonly object[], token: string, required: Type): string | undefined {
  if (found[0] instanceof required) return undefined;
  const line = `{ provide: ${token}, useClass: ${required.name} }`;
  return found.some((each) => each instanceof required)
    ? `must list ${line} before all other providers of ${token}`
    : `lacks ${line} in its providers`;
}
