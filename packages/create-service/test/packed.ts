import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { execute } from './execute.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the packed packages. */
    packed: string;
  }
}

/** Packs all packages of a clone, as `packages/create-service/README.md` says. npm need not be allowed to run their scripts. */
export async function pack(clone: string, destination: string): Promise<void> {
  await mkdir(destination);
  const packages = (await readdir(join(clone, 'packages'))).map((name) => `./packages/${name}`);
  const compiled = packages.filter((path) => existsSync(join(clone, path, 'tsconfig.json')));
  const words = ['pack', '--silent', ...packages, '--pack-destination', destination];
  await execute('npx', ['tsc', '--build', ...compiled], clone);
  await execute('npm', words, clone);
}

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'));
  const packed = join(folder, 'packages');
  await pack('.', packed);
  provide('packed', packed);
  return () => rm(folder, { recursive: true, force: true });
}
