import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../packages/local/src/embedded-postgres.js';
import { IDENTITY } from '../../src/identity.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder with the data of a new PostgreSQL server; `undefined` in projects without this global set-up. */
    madeCluster: string | undefined;
  }
}

/** Makes a cluster once. `initdb` takes ten times as long as a copy. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-made-'));
  const server = await startEmbeddedPostgres(IDENTITY, folder);
  await server.stop();
  project.provide('madeCluster', folder);
  return () => rm(folder, { recursive: true, force: true });
}

/**
 * Copies the cluster into a folder that may not exist yet, if there is one: otherwise the start of a server makes it. Servers of
 * copies have one system identifier.
 */
export async function copyMadeCluster(folder: string): Promise<void> {
  const made = inject('madeCluster');
  await mkdir(folder, { recursive: true });
  // With owners and modes.
  if (made !== undefined) await promisify(execFile)('cp', ['-a', `${made}/.`, folder]);
}
