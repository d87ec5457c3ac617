import { defineErrors, SERVICE_RANGE } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';

let defined: Readonly<Record<'idempotencyKeyReused', ErrorKind>> | undefined;

/** Defined only in a service that uses it: the documents list all failures that are defined. */
export function idempotencyErrors() {
  return (defined ??= defineErrors(SERVICE_RANGE, {
    idempotencyKeyReused: {
      number: 42200,
      message: 'the idempotency key belongs to another request',
      remedy: 'Use a new key for each request, and the same one only to send a request again',
    },
  }));
}
