import type { INestApplication, Type } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { AuthGuard } from '../auth/auth.guard.js';
import { StartupError } from '../errors/startup.error.js';
import { DtoPipe } from '../http/body/dto.pipe.js';
import { ErrorFilter } from '../http/errors/error.filter.js';

/**
 * Requires that an application lists the guard, the pipe and the filter of the framework, each before others of its kind. Then
 * no other guard sees a request without a valid token, no other pipe a body without validation, and the filter is the last
 * resort, because Nest calls global filters from the last to the first. Nest collects the providers of the application before
 * the providers of imported modules, and request-scoped providers last.
 *
 * @throws StartupError with a line for each mistake
 */
export function requireEnhancers(app: INestApplication, { name }: Type): void {
  const { config } = app as unknown as { readonly config: ApplicationConfig };
  const mistakes = [
    mistakeIn(config.getGlobalGuards(), 'APP_GUARD', AuthGuard),
    mistakeIn(config.getGlobalPipes(), 'APP_PIPE', DtoPipe),
    mistakeIn(config.getGlobalFilters(), 'APP_FILTER', ErrorFilter),
  ].filter((mistake) => mistake !== undefined);
  if (mistakes.length === 0) return;
  throw new StartupError(mistakes.map((mistake) => `${name} ${mistake}`).join('\n'));
}

/** Accepts subclasses, however they are provided. */
function mistakeIn(found: readonly object[], token: string, required: Type): string | undefined {
  if (found[0] instanceof required) return undefined;
  const line = `{ provide: ${token}, useClass: ${required.name} }`;
  return found.some((each) => each instanceof required)
    ? `must list ${line} before all other providers of ${token}`
    : `lacks ${line} in its providers`;
}
