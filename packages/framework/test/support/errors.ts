import { isTemporary, statusOf } from '../../src/errors/error-kind.js';
import type { ErrorKind } from '../../src/errors/error-kind.js';

/** Errors of a resource. They are not defined, so that the errors of a service that runs in the same process stay its own. */
export function errorsOf<Name extends string>(
  errors: Readonly<Record<Name, Omit<ErrorKind, 'code' | 'isTemporary'>>>,
): Readonly<Record<Name, ErrorKind>> {
  const kinds = Object.entries<Omit<ErrorKind, 'code' | 'isTemporary'>>(errors).map(
    ([code, error]) => [code, { code, isTemporary: isTemporary(statusOf(error.number)), ...error }],
  );
  return Object.fromEntries(kinds) as Record<Name, ErrorKind>;
}
