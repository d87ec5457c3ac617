import { defineErrors, SERVICE_RANGE } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';

let defined: Readonly<Record<'idempotencyKeyReused' | 'responseNotKept', ErrorKind>> | undefined;

/**
 * The errors of {@link Idempotency}. Defined only in a service that uses them: the documents list all defined errors.
 *
 * @example @ApiErrors(idempotencyErrors().responseNotKept, idempotencyErrors().idempotencyKeyReused)
 */
export function idempotencyErrors() {
  return (defined ??= defineErrors(SERVICE_RANGE, {
    idempotencyKeyReused: {
      number: 42200,
      message: 'the idempotency key belongs to another request',
      remedy: 'Use a new key for each request, and the same one only to send a request again',
    },
    responseNotKept: {
      number: 40901,
      message: 'the request was performed before, and its response is no longer kept',
      remedy: 'Do not send it again with a new key: read what it has created or changed',
    },
  }));
}
