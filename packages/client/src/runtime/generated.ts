import type { ExactOperation, ExactSchema, ServiceCall } from './resource-types.js';

/* The generator replaces this file by what a service has. */

/** The numbers of errors that the code of every client uses. */
export const ERRORS = { noSuchPath: 40400, databaseUnavailable: 50300 } as const;

/** The resources whose ids the service makes, so that a create needs a key. */
export const IDEMPOTENT_CREATES: readonly string[] = [];

/** What requests have, by method and path, such as `GET /tools/{id}`. */
export const OPERATIONS: Readonly<Record<string, ExactOperation>> = {};

export const SCHEMAS: Readonly<Record<string, ExactSchema>> = {};

/** The operations that neither resources nor feeds have, by their ids. */
export const CALLS: Readonly<Record<string, ServiceCall>> = {};
