import type { ExactOperation, ExactSchema } from './resource-types.js';

/* Where requests have 64-bit integers and UUIDs. The generator replaces this file by the operations and schemas of a service. */

/** By method and path, such as `GET /tools/{id}`. */
export const OPERATIONS: Readonly<Record<string, ExactOperation>> = {};

export const SCHEMAS: Readonly<Record<string, ExactSchema>> = {};
