import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from './embedded-postgres.js';

/** Without durability. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};

/**
 * Starts the PostgreSQL server that all test files share, unless `TEST_DATABASE_URL` names one. For `globalSetup` of Vitest,
 * which calls the returned function after the tests.
 *
 * @example
 *   export default defineConfig({ test: { globalSetup: ['@resource-service/local/global-setup'] } });
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['TEST_DATABASE_URL']) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'testing-service-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const { url, stop } = await startEmbeddedPostgres({ name: 'testing' }, folder, {
      settings: SETTINGS,
    });
    // Inherited by the processes of the test files.
    process.env['TEST_DATABASE_URL'] = url;
    return async () => {
      await stop();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
