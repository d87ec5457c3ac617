import { resolve } from 'node:path';
import { allErrors } from '../../src/errors/error-kind.js';
import type { ErrorKind } from '../../src/errors/error-kind.js';
import { EXAMPLE } from './application.js';

// Defines the errors of the features.
await import(resolve(EXAMPLE ?? 'src', 'features.ts'));

/** All failures of the program that the tests run, without those that tests of the same worker define: n from 80. */
export function programErrors(): readonly ErrorKind[] {
  return allErrors().filter(({ number }) => number % 100 < 80);
}
