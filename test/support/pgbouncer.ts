import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { vi } from 'vitest';
import { serverAccount, spawnAs } from '../../packages/local/src/server-account.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lastingPort } from './lasting-port.js';

/** Where Debian puts it. */
const PROGRAM = '/usr/sbin/pgbouncer';

/** Sessions of PgBouncer with the database. */
export const SESSIONS = 3;

/** PgBouncer, whose sessions are fewer than its clients' connections. */
export class PgBouncer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** @param target URL of the database that it stands before */
  static async start(
    folder: string,
    target: string,
    mode: 'transaction' | 'statement' = 'transaction',
  ): Promise<PgBouncer> {
    const { hostname, port: targetPort, username, password } = new URL(target);
    const url = new URL(target);
    url.port = String(await lastingPort());
    const configuration = [
      '[databases]',
      `* = host=${hostname} port=${targetPort} user=${username} password=${password}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${url.port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${mode}`,
      `default_pool_size = ${SESSIONS}`,
      // What PgBouncer waits after a failed login, 15 s by default.
      'server_login_retry = 1',
    ];
    const file = join(folder, 'pgbouncer.ini');
    await writeFile(file, `${configuration.join('\n')}\n`);
    const pgBouncer = new PgBouncer(folder, url.href);
    await pgBouncer.startAgain();
    return pgBouncer;
  }

  /** Resolves when it passes statements on. */
  async startAgain(): Promise<void> {
    // Like PostgreSQL, it refuses to run as root.
    const account = await serverAccount({ folder: this.folder, data: '', binary: PROGRAM });
    this.child = spawnAs(account, PROGRAM, ['--quiet', join(this.folder, 'pgbouncer.ini')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await vi.waitFor(
      async () => {
        const client = new Client({ connectionString: this.url });
        await client.connect();
        await client.query('SELECT 1');
        await client.end();
      },
      { timeout: PATIENCE, interval: 20 },
    );
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child === undefined || this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}
