import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, escapeLiteral } from 'pg';
import type { TestProject } from 'vitest/node';
import { DIST } from './application.js';
import { describeError } from '../../packages/framework/src/observability/describe-error.js';
import { startEmbeddedPostgres } from '../../packages/local/src/embedded-postgres.js';
import { IDENTITY } from '../../src/identity.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the PostgreSQL server that all test files share, each with databases of its own. */
    postgresUrl: string;
    /** Name of a database to which the migrations have been applied. */
    migratedDatabase: string;
  }
}

/** Nothing that a test stores has to survive. */
export const NOT_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  // Tests connect thousands of times. With the default, a login takes 2 ms of processor time.
  scram_iterations: '1',
};

/** Starts the embedded server, unless `TEST_DATABASE_URL` names a server whose user may create databases. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined) {
    await provideDatabases(project, given).catch(giveUp);
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-test-'));
  const postgres = await startEmbeddedPostgres(IDENTITY, folder, { settings: NOT_DURABLE });
  const stop = async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await renewPassword(postgres.url);
    await provideDatabases(project, postgres.url);
    return stop;
  } catch (error) {
    await stop();
    return giveUp(error);
  }
}

/** Ends the run with one line. After a failure here, Vitest says that it found no tests, and waits for what still runs. */
function giveUp(error: unknown): never {
  process.stderr.write(`the tests cannot run: ${describeError(error)}\n`);
  process.exit(1);
}

/** The new verifier has the number of iterations of the settings. */
async function renewPassword(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${escapeLiteral(new URL(url).password)}`);
  await client.end();
}

/** Copies of a migrated database cost less than migrations, which most tests need and do not test. */
async function provideDatabases(project: TestProject, postgresUrl: string): Promise<void> {
  const migratedDatabase = `migrated_${randomUUID().replaceAll('-', '')}`;
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${migratedDatabase}` }).href;
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${migratedDatabase}`);
    await migrate(url);
    // Nor by a worker of autovacuum: whoever is connected keeps it from being copied.
    await client.query(`ALTER DATABASE ${migratedDatabase} ALLOW_CONNECTIONS false`);
  } finally {
    await client.end();
  }
  project.provide('postgresUrl', postgresUrl);
  project.provide('migratedDatabase', migratedDatabase);
}

/** Fails with what the last line of the log says, such as an error number that is defined twice. */
async function migrate(url: string): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, [`${DIST}/cli/migration.js`, 'run'], {
      env: { ...process.env, DATABASE_URL: url, LOG_FORMAT: 'json' },
    });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    const last = stdout.trim().split('\n').at(-1);
    const reason = last ? (JSON.parse(last) as { readonly msg: string }).msg : stderr.trim();
    throw new Error(`the migrations failed: ${reason}`, { cause: error });
  }
}
