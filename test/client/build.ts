import { execSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { DIST, EXAMPLE } from '../support/application.js';

/** Builds the client, which the tests use as its users do: once for a run, and again when watched files change. */
export function setup(project: TestProject): void {
  build();
  project.onTestsRerun(build);
}

function build(): void {
  run('npm run build:client --silent');
  if (EXAMPLE === undefined) return;
  // The client of the example, with which its test must compile.
  run(`node bundle.js ${EXAMPLE} && node ${DIST}/cli/write-client.js ${DIST}-client`);
  run(`npx tsc --project ${EXAMPLE}/client`);
}

function run(command: string): void {
  execSync(command, { stdio: 'inherit' });
}
