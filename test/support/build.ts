import { execSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';

/** Builds `dist/`, which some tests start as a process: once for a run, and again when watched files change. */
export function setup(project: TestProject): void {
  build();
  project.onTestsRerun(build);
}

function build(): void {
  execSync('npm run build --silent', { stdio: 'inherit' });
}
