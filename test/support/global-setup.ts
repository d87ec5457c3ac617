import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/local/embedded-postgres.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the PostgreSQL server that all test files share, each with databases of its own. */
    postgresUrl: string;
  }
}

/** Nothing that a test stores has to survive. */
export const NOT_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};

/** Starts the embedded server, unless `TEST_DATABASE_URL` names a server whose user may create databases. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined) {
    project.provide('postgresUrl', given);
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-test-'));
  const postgres = await startEmbeddedPostgres(folder, { settings: NOT_DURABLE });
  project.provide('postgresUrl', postgres.url);
  return async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
