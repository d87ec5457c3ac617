import { execSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { EXAMPLE } from './application.js';

/** Builds the program that the tests run: once for a run, and again when watched files change. */
export function setup(project: TestProject): void {
  build();
  project.onTestsRerun(build);
}

function build(): void {
  execSync(`node bundle.js ${EXAMPLE ?? ''}`, { stdio: 'inherit' });
}
