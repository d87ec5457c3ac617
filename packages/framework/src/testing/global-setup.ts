import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../local/embedded-postgres.js';
import { TEST_DATABASE_URL } from './testing-service.js';

/** Nothing that a test stores has to survive. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};

/**
 * Starts the PostgreSQL server that all test files share, unless `TEST_DATABASE_URL` names one. For `globalSetup` of Vitest, which
 * calls the returned function when the tests have ended.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[TEST_DATABASE_URL]) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'testing-service-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const postgres = await startEmbeddedPostgres({ name: 'testing' }, folder, {
      settings: SETTINGS,
    });
    // The processes of the test files inherit it.
    process.env[TEST_DATABASE_URL] = postgres.url;
    return async () => {
      await postgres.stop();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
