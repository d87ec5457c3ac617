import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { DIST } from './application.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the module with which tests run the service in their process. */
    program: string;
  }
}

/** Tests run the built program. Only a run that measures coverage runs the sources. */
export function setup(project: TestProject): void {
  const module = project.config.coverage.enabled
    ? 'test/support/in-process.ts'
    : `${DIST}/in-process.js`;
  project.provide('program', pathToFileURL(resolve(module)).href);
}

export function loadProgram() {
  return import(inject('program')) as Promise<typeof import('./in-process.js')>;
}
