import { execSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { EXAMPLE } from '../../../test/support/application.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

/** Builds the package, which some tests use as its users do: once for a run, and again when watched files change. */
export function setup(project: TestProject): void {
  build();
  project.onTestsRerun(build);
}

function build(): void {
  execSync('npm run build --silent', { cwd: PACKAGE, stdio: 'inherit' });
  if (EXAMPLE === undefined) return;
  // The types of the example's document, with which its test must compile.
  const folder = resolve(EXAMPLE, 'client');
  mkdirSync(join(folder, 'build'), { recursive: true });
  const files = `${resolve(EXAMPLE, 'openapi.json')} ${join(folder, 'build/openapi.ts')}`;
  execSync(`node generate.js ${files}`, { cwd: PACKAGE, stdio: 'inherit' });
  execSync(`npx tsc --project ${folder}`, { stdio: 'inherit' });
}
