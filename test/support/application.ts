import { basename } from 'node:path';

/** The folder of an example that the tests run in place of the service, such as `examples/gardens`. */
export const EXAMPLE = process.env['EXAMPLE'];

/** The folder of the program that the tests run. */
export const DIST = EXAMPLE === undefined ? 'dist' : `dist-${basename(EXAMPLE)}`;

/** The committed OpenAPI document of this program. */
export const DOCUMENT = EXAMPLE === undefined ? 'openapi.json' : `${EXAMPLE}/openapi.json`;
