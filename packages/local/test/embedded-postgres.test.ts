import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCluster } from '../src/create-cluster.js';
import { startEmbeddedPostgres } from '../src/embedded-postgres.js';
import { serverAccount, spawnAs } from '../src/server-account.js';
import { connect, IDENTITY, NOT_DURABLE, PATIENCE, query } from './support.js';

const OTHER_INSTANCES_GO =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tool-library instance'";

/** Has a database that no test changes. */
let made: string;

/** Empty at the beginning of a test. */
let folder: string;

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'tool-library-embedded-'));
  await (await startEmbeddedPostgres(IDENTITY, made, { settings: NOT_DURABLE })).stop();
});

afterAll(() => rm(made, { recursive: true, force: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-embedded-'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

function start(settings: Record<string, string> = {}) {
  return startEmbeddedPostgres(IDENTITY, folder, { settings: { ...NOT_DURABLE, ...settings } });
}

/** Puts a copy of `made` into `folder`, which is faster than creating a database. */
function copyMade(): void {
  // With owners and modes.
  execFileSync('cp', ['-a', join(made, 'postgres'), folder]);
}

describe('the embedded database', () => {
  it('refuses a second instance, and is taken over from an instance that was killed', async () => {
    copyMade();
    const first = await start();
    await expect(start()).rejects.toThrow(/already running/);
    // Like the end of the process: its session is closed, its server keeps running.
    await query(first.url, OTHER_INSTANCES_GO);
    await mkdir(join(folder, 'postgres-new-left'));
    const second = await vi.waitFor(() => start(), PATIENCE);
    expect(second.pid).toBe(first.pid);
    expect(await readdir(folder)).toEqual(['postgres']);
    await second.stop();
    await vi.waitFor(() => expect(() => process.kill(first.pid, 0)).toThrow(/ESRCH/), 10_000);
  });

  it('refuses a second instance, although the server closes idle sessions', async () => {
    copyMade();
    const first = await start({ idle_session_timeout: '100' });
    try {
      const client = await connect(first.url);
      await new Promise((resolve) => void client.once('end', resolve));
      await expect(start()).rejects.toThrow(/already running/);
    } finally {
      await first.stop();
    }
  });

  it('keeps its data, folds the case of all letters, finds trigrams in them, and uses UTF-8', async () => {
    copyMade();
    const first = await start();
    await query(first.url, 'CREATE TABLE kept (id int); CREATE EXTENSION pg_trgm');
    await first.stop();
    const second = await start();
    const rows = await query(
      second.url,
      "SELECT to_regclass('kept')::text AS kept, 'ÉA' ILIKE '%éa%' AS folds, current_setting('server_encoding') AS encoding, cardinality(show_trgm('яблоко')) AS trigrams",
    );
    expect(rows).toEqual([{ kept: 'kept', folds: true, encoding: 'UTF8', trigrams: 7 }]);
    await second.stop();
  });

  it('stops when somebody has removed its folder', async () => {
    copyMade();
    const server = await start();
    await rm(folder, { recursive: true, force: true });
    await server.stop();
    // A process that has ended can be looked up until its parent has been told.
    await vi.waitFor(() => expect(() => process.kill(server.pid, 0)).toThrow(/ESRCH/), PATIENCE);
  });

  it('reports the message of a server that does not start', async () => {
    copyMade();
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    await expect(start({ port: String(port) })).rejects.toThrow(
      /the database did not start[^]*could not create any TCP\/IP sockets/,
    );
    holder.close();
  });

  it('starts although another program has its process id, as after a power failure', async () => {
    copyMade();
    const data = join(folder, 'postgres', 'data');
    const note = [process.pid, data, 1_700_000_000, 1, '', '127.0.0.1', '0 0', 'ready', ''];
    await writeFile(join(data, 'postmaster.pid'), note.join('\n'));
    const server = await startEmbeddedPostgres(IDENTITY, folder);
    expect(server.pid).not.toBe(process.pid);
    await server.stop();
  });

  it('waits for a server that is shutting down, also without postmaster.pid', async () => {
    copyMade();
    const first = await start();
    const client = await connect(first.url);
    await client.query(OTHER_INSTANCES_GO);
    // Smart shutdown: the server waits for this client.
    process.kill(first.pid, 'SIGTERM');
    const note = join(folder, 'postgres', 'data', 'postmaster.pid');
    await vi.waitFor(
      async () => expect(await readFile(note, 'utf8')).toContain('stopping'),
      20_000,
    );
    const steps: string[] = [];
    const second = startEmbeddedPostgres(IDENTITY, folder, { log: (step) => steps.push(step) });
    await vi.waitFor(() => expect(steps).toEqual(['waiting for the database']), 20_000);
    await rm(note);
    // Longer than failed starts are retried.
    await sleep(1_500);
    setTimeout(() => void client.end(), 10);
    const server = await second;
    expect(server.pid).not.toBe(first.pid);
    await server.stop();
  });

  it('can be aborted while it is created, and leaves nothing', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const server = startEmbeddedPostgres(IDENTITY, folder, {
      log: () => controller.abort(),
      signal,
    });
    await expect(server).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(await readdir(folder)).toEqual([]);
  });

  it('can be aborted during crash recovery, and leaves no server', async () => {
    copyMade();
    const data = join(folder, 'postgres', 'data');
    // Recovery waits for an archive that does not answer.
    await writeFile(join(data, 'recovery.signal'), '');
    const controller = new AbortController();
    const server = startEmbeddedPostgres(IDENTITY, folder, {
      settings: { restore_command: 'touch asked; sleep 60' },
      signal: controller.signal,
    });
    server.catch(() => {});
    await vi.waitFor(() => stat(join(data, 'asked')), 20_000);
    const { pid } = /^(?<pid>\d+)/.exec(
      await readFile(join(data, 'postmaster.pid'), 'utf8'),
    )!.groups!;
    controller.abort();
    await expect(server).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(() => process.kill(Number(pid), 0)).toThrow(/ESRCH/);
  });

  it.each([
    ['is a file', async () => writeFile(join(folder, 'kept'), '')],
    [
      'holds a file where the database should be',
      async () => {
        await mkdir(join(folder, 'kept'));
        await writeFile(join(folder, 'kept', 'postgres'), '');
      },
    ],
    ['leads nowhere', async () => symlink('/proc/nothing', join(folder, 'kept'))],
  ])('says in one line what to do when its folder %s', async (_, occupy) => {
    await occupy();
    const kept = join(folder, 'kept');
    await expect(startEmbeddedPostgres(IDENTITY, kept)).rejects.toThrow(
      new RegExp(
        `^cannot store the local database in ${kept} \\(.+\\): make it .*, or set DATABASE_URL$`,
      ),
    );
  });

  it('does not exist for every platform, and says what to do instead', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform');
    Object.defineProperty(process, 'platform', { ...platform, value: 'plan9' });
    try {
      await expect(start()).rejects.toThrow(
        /the embedded database is not installed for plan9-\w+: set DATABASE_URL/,
      );
    } finally {
      if (platform !== undefined) Object.defineProperty(process, 'platform', platform);
    }
  });

  it('says that it needs glibc where its programs cannot be loaded', async () => {
    // As the programs of a system with glibc on one with musl: what loads them does not exist.
    const program = join(folder, 'program');
    await writeFile(program, '#!/nowhere/ld-linux.so\n', { mode: 0o755 });
    const cluster = {
      identity: IDENTITY,
      path: join(folder, 'postgres'),
      binaries: { initdb: program, postgres: program },
      account: { command: [] },
    };
    await expect(createCluster(cluster, new AbortController().signal)).rejects.toThrow(
      /: use a system with glibc, such as Debian \(Alpine has musl\), or set DATABASE_URL$/,
    );
  });

  it('reports the message of initdb when the database cannot be created', async () => {
    // PostgreSQL refuses paths of a thousand characters.
    const deep = join(folder, ...Array.from({ length: 6 }, () => 'x'.repeat(200)));
    await expect(startEmbeddedPostgres(IDENTITY, deep)).rejects.toThrow(
      /^cannot create the database in .*\(.+\): fix that, or set DATABASE_URL$/,
    );
    expect(await readdir(deep)).toEqual([]);
  });
});

function needs() {
  return { folder, data: join(folder, 'data'), binary: '/bin/sh' };
}

describe('the account of the embedded server', () => {
  it('is the user that starts it, unless that is root', async () => {
    expect(await serverAccount(needs(), 1000)).toEqual({ command: [] });
  });

  it('is a user with a name in a user namespace, if the user that starts it has none', async () => {
    const account = await serverAccount(needs(), 12_345, false);
    expect(account.command.slice(0, 2)).toEqual(['unshare', '--user']);
    vi.stubEnv('PATH', '/nowhere');
    await expect(serverAccount(needs(), 12_345, false)).rejects.toThrow(
      /^PostgreSQL needs the name of its user, and the user 12345 has none: add one to .*, or set DATABASE_URL$/,
    );
  });

  it('is root in a user namespace, if the system has them', async () => {
    const account = await serverAccount(needs(), 0);
    expect(account.command.slice(0, 2)).toEqual(['unshare', '--user']);
    const child = spawnAs(account, 'id', ['-u'], { stdio: ['ignore', 'pipe', 'ignore'] });
    expect(Number(await text(child.stdout!))).toBeGreaterThan(0);
  });

  it('stays the owner of the files', async () => {
    if (process.getuid?.() === 0) await chown(folder, 65_534, 65_534);
    await chmod(folder, 0o700);
    const { uid, gid } = await stat(folder);
    const account = serverAccount({ ...needs(), data: folder }, 0);
    // Only root and the owner can run as the owner.
    if ([0, uid].includes(process.getuid?.() ?? -1)) {
      expect(await account).toEqual({ command: [], uid, gid });
    } else {
      await expect(account).rejects.toThrow(/PostgreSQL refuses to run as root/);
    }
  });

  it('is nobody where namespaces are forbidden and no other user will do', async () => {
    // Without programs in PATH, no account works.
    vi.stubEnv('PATH', '/nowhere');
    await expect(serverAccount(needs(), 0)).rejects.toThrow(
      /start the service as an ordinary user, or set DATABASE_URL/,
    );
  });
});
