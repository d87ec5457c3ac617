import { randomInt } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { userOf } from './create-cluster.js';
import type { Cluster, Identity } from './create-cluster.js';
import { LocalError } from './local-error.js';
import { end, POLL_INTERVAL, sendSignal } from './processes.js';
import { spawnAs } from './server-account.js';

/** In milliseconds. */
const LIMITS = {
  /** Until the server accepts connections, including crash recovery. */
  start: 60_000,
  connect: 5_000,
} as const;

/** A fast, then an immediate shutdown (PostgreSQL manual, chapter 18.5). */
const SHUTDOWN = ['SIGINT', 'SIGQUIT'] as const;

/** A server that accepts connections. */
export interface PostgresServer {
  readonly pid: number;
  readonly url: string;
  readonly session: Client;
}

/**
 * Waits until the server of a cluster accepts connections.
 *
 * @param launched the process id of a server that this process has started. Default: any server of the cluster
 * @returns `undefined` when there is no server, when it ends, and when `signal` aborts the wait
 */
export async function readyServer(
  { identity, path }: Pick<Cluster, 'identity' | 'path'>,
  password: string,
  signal: AbortSignal,
  launched?: number,
): Promise<PostgresServer | undefined> {
  const deadline = performance.now() + LIMITS.start;
  let pid = launched;
  while (!signal.aborted && performance.now() < deadline) {
    const file = await postmasterFile(path);
    // A server removes its file shortly before it exits.
    pid ??= file?.pid;
    if (pid === undefined || !sendSignal(pid, 0)) return undefined;
    if (pid !== launched && (await isStale(pid, path))) {
      // A concurrent start may have replaced the file meanwhile.
      if ((await postmasterFile(path))?.pid === pid) await fs.rm(pidFile(path), { force: true });
      return undefined;
    }
    if (file?.ready && file.pid === pid)
      return openSession(identity, pid, file.port, password).catch(() => undefined);
    await sleep(POLL_INTERVAL);
  }
  return undefined;
}

/**
 * @returns `undefined` when the server exits during its start
 * @throws LocalError instead, when this is the `last` attempt
 * @throws AbortError when `signal` aborts the start
 */
export async function launchServer(
  cluster: Cluster,
  password: string,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
  last: boolean,
): Promise<PostgresServer | undefined> {
  const serverLog = join(cluster.path, 'server.log');
  const output = await fs.open(serverLog, 'w', 0o600);
  const child = spawnAs(
    cluster.account,
    cluster.binaries.postgres,
    [
      `-D${join(cluster.path, 'data')}`,
      '--listen_addresses=127.0.0.1',
      // Below the ports of outgoing connections. If it is taken, the next attempt uses another one.
      `--port=${randomInt(20_000, 30_000)}`,
      '--unix_socket_directories=',
      ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    ],
    // Ctrl-C signals the whole process group, but the server must outlive the drain.
    { detached: true, stdio: ['ignore', output.fd, output.fd] },
  );
  // A program that cannot be spawned has no process id.
  child.once('error', () => {});
  await output.close();
  child.unref();
  if (child.pid !== undefined) {
    const server = await readyServer(cluster, password, signal, child.pid);
    if (server !== undefined) return server;
    await end(child.pid, SHUTDOWN, (pid) => !sendSignal(pid, 0));
  }
  signal.throwIfAborted();
  if (!last) return undefined;
  const lines = (await fs.readFile(serverLog, 'utf8')).trim().split('\n');
  const reason = lines.find((line) => line.includes('FATAL:')) ?? lines.at(-1);
  throw new LocalError(`the database did not start (see ${serverLog}): ${reason}`);
}

/** Stops a server and waits until it is gone. */
export async function stopServer(server: PostgresServer, { path }: Cluster): Promise<void> {
  await end(server.pid, SHUTDOWN, async (pid) => !sendSignal(pid, 0) || (await isStale(pid, path)));
  void server.session.end().catch(() => {});
}

/** The lines of `postmaster.pid`: `src/include/utils/pidfile.h` of PostgreSQL. */
async function postmasterFile(cluster: string) {
  const text = await fs.readFile(pidFile(cluster), 'utf8').catch(() => '');
  const [pid, , , port, , , , state] = text.split('\n');
  if (!pid || !port) return undefined;
  return { pid: Number(pid), port: Number(port), ready: state?.trim() === 'ready' };
}

function pidFile(cluster: string): string {
  return join(cluster, 'data', 'postmaster.pid');
}

/**
 * Whether `postmaster.pid` has the id of a zombie, or of another program after a crash of the machine, which PostgreSQL does not
 * detect. The working directory of a server is its data folder; a zombie has none.
 */
async function isStale(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    const directory = await fs.readlink(`/proc/${pid}/cwd`);
    // If the folder was removed, the server still has to be stopped.
    return directory !== (await fs.realpath(join(cluster, 'data')).catch(() => directory));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

async function openSession(
  identity: Identity,
  pid: number,
  port: number,
  password: string,
): Promise<PostgresServer> {
  const url = `postgres://${userOf(identity)}:${password}@127.0.0.1:${port}/postgres`;
  const session = new Client({
    connectionString: url,
    connectionTimeoutMillis: LIMITS.connect,
    query_timeout: LIMITS.connect,
    application_name: `${identity.name} instance`,
    // The session idles while it holds the lock of the folder.
    options: '-c idle_session_timeout=0',
  });
  // The pool reports a lost connection.
  session.on('error', () => {});
  await session.connect();
  return { pid, url, session };
}

/**
 * Removes the variables of libpq, such as `PGOPTIONS` and `PGSSLMODE`, from the environment of this process: the driver always
 * reads them, but they are meant for another database than the embedded one.
 */
export function forgetLibpqVariables(): void {
  for (const name of Object.keys(process.env)) {
    if (/^PG[A-Z]/.test(name)) delete process.env[name];
  }
}
