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

/** Packs all packages, as `packages/create-service/README.md` says. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'));
  const packed = join(folder, 'packages');
  await mkdir(packed);
  const packages = (await readdir('packages')).map((name) => `./packages/${name}`);
  await execute('npm', ['pack', '--silent', ...packages, '--pack-destination', packed], '.');
  provide('packed', packed);
  return () => rm(folder, { recursive: true, force: true });
}
