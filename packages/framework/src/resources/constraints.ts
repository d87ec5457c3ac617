import { DatabaseError } from 'pg';
import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';

/** What a violation of a constraint of the database means to a client, by the name of the constraint. */
export type ConstraintErrors = Readonly<Record<string, ErrorKind>>;

/**
 * Performs work on the database. A violation of one of the constraints, such as a foreign key or a unique key, becomes
 * the declared failure; any other failure is passed on.
 */
export async function withConstraintErrors<Result>(
  errors: ConstraintErrors,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const constraint = error instanceof DatabaseError ? error.constraint : undefined;
    const kind = constraint === undefined ? undefined : errors[constraint];
    throw kind === undefined ? error : new ServiceException(kind);
  }
}
