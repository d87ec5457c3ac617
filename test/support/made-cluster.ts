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
    /** `undefined` in projects without this global set-up. */
    madeCluster: MadeCluster | undefined;
  }
}

/** The data of a PostgreSQL server that does not run. */
interface MadeCluster {
  readonly folder: string;
  /** Of its copies, with another port. */
  readonly url: string;
}

/** Makes a cluster once. `initdb` takes ten times as long as a copy. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-made-'));
  project.provide('madeCluster', await makeCluster(folder));
  return () => rm(folder, { recursive: true, force: true });
}

export async function makeCluster(folder: string): Promise<MadeCluster> {
  const server = await startEmbeddedPostgres(IDENTITY, folder);
  await server.stop();
  return { folder, url: server.url };
}

/**
 * Copies a cluster into a folder that may not exist yet, if there is one: otherwise the start of a server makes it. Servers of
 * copies have one system identifier.
 */
export async function copyMadeCluster(
  folder: string,
  made: MadeCluster | undefined = inject('madeCluster'),
): Promise<void> {
  await mkdir(folder, { recursive: true });
  // With owners and modes.
  if (made !== undefined) await promisify(execFile)('cp', ['-a', `${made.folder}/.`, folder]);
}
