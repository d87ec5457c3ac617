import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverAccount, spawnAs } from '../../packages/local/src/server-account.js';
import { lastingPort } from './lasting-port.js';
import { PostgresServer } from './own-postgres.js';

/** Where Debian puts the programs of its package `postgresql-15`. */
const PROGRAMS = '/usr/lib/postgresql/15/bin';

/** Without the variable `CI`, tests that need the package may be skipped. */
export const HAS_DEBIAN_POSTGRES =
  process.env['CI'] !== undefined || existsSync(join(PROGRAMS, 'pg_dump'));

/** A server with the programs that make and restore dumps, which the embedded server lacks. */
export class DebianPostgres extends PostgresServer {
  private constructor(
    folder: string,
    private readonly child: ChildProcess,
    readonly url: string,
  ) {
    super(folder);
  }

  static async start(): Promise<DebianPostgres> {
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-debian-'));
    const data = join(folder, 'data');
    // Like every PostgreSQL, it refuses to run as root.
    const account = await serverAccount({ folder, data, binary: join(PROGRAMS, 'postgres') });
    const initdb = spawnAs(
      account,
      join(PROGRAMS, 'initdb'),
      [`--pgdata=${data}`, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'],
      { stdio: 'ignore' },
    );
    const [code] = (await once(initdb, 'close')) as [number | null];
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
    const port = await lastingPort();
    const child = spawnAs(
      account,
      join(PROGRAMS, 'postgres'),
      [`-D${data}`, '--listen_addresses=127.0.0.1', `--port=${port}`, '-k', ''],
      { stdio: 'ignore' },
    );
    const server = new DebianPostgres(
      folder,
      child,
      `postgres://postgres@127.0.0.1:${port}/postgres`,
    );
    await server.accepting();
    return server;
  }

  /** As `docs/backup-restore.md` says. */
  async dump(file: string): Promise<void> {
    await run('pg_dump', ['--format=custom', `--file=${file}`, this.url]);
  }

  /** As `docs/backup-restore.md` says. */
  async restore(file: string, ...options: readonly string[]): Promise<void> {
    const all = [...options, '--exit-on-error', '--single-transaction', `--dbname=${this.url}`];
    await run('pg_restore', [...all, file]);
  }

  /** As `docs/backup-restore.md` says: again after a deadlock with a statement of the service. */
  async restoreInPlace(file: string, attempts = 3): Promise<void> {
    try {
      await this.restore(file, '--clean', '--if-exists');
    } catch (error) {
      if (attempts === 1 || !String(error).includes('deadlock detected')) throw error;
      await this.restoreInPlace(file, attempts - 1);
    }
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGQUIT');
    await ended;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function run(program: string, programArguments: readonly string[]): Promise<void> {
  await promisify(execFile)(join(PROGRAMS, program), [...programArguments]);
}
