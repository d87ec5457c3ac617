import { execSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

/** Builds the package, which some tests use as its users do: once for a run, and again when watched files change. */
export function setup(project: TestProject): void {
  build();
  project.onTestsRerun(build);
}

function build(): void {
  execSync('npm run build --silent', { cwd: PACKAGE, stdio: 'inherit' });
}
