import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { embeddedBinaries } from './embedded-binaries.js';
import type { EmbeddedBinaries } from './embedded-binaries.js';
import { StartupError } from '../errors/startup.error.js';
import { serverAccount, spawnAs } from './server-account.js';
import type { ServerAccount } from './server-account.js';

/** A PostgreSQL server that belongs to one folder. */
export interface EmbeddedPostgres {
  readonly url: string;
  /** Process id of the server. */
  readonly pid: number;
  /** Stops the server and waits until it is gone. */
  stop(): Promise<void>;
}

interface EmbeddedPostgresOptions {
  /** Called with each step that takes long. */
  readonly log?: (step: string) => void;
  /** Server settings, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Ends the start, and what it has started. */
  readonly signal?: AbortSignal;
}

const LIMITS = {
  /** For the server to accept connections, crash recovery included. */
  start: 60_000,
  /** For an orderly shutdown; afterwards the server is told to leave at once. */
  stop: 10_000,
  connect: 5_000,
  /** For a server that ends at once to be started again. */
  attempts: 3_000,
  /** For the server to notice that an instance that was killed has gone. */
  lock: 1_000,
  betweenAttempts: 100,
  poll: 20,
} as const;

const USER = 'plant_store';

/** Whoever holds this advisory lock is the one instance on the folder. */
const INSTANCE_LOCK = 7_526_841_014;

/**
 * Starts the server of a folder, which is created when it is not there. A server that an earlier
 * instance left behind when it was killed is taken over.
 *
 * @throws StartupError also when another instance is using the folder
 * @throws AbortError when `signal` ends the start
 */
export async function startEmbeddedPostgres(
  folder: string,
  {
    log = () => {},
    settings = {},
    signal = new AbortController().signal,
  }: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  const binaries = await embeddedBinaries();
  try {
    const cluster = join(folder, 'postgres');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const data = join(cluster, 'data');
    const account = await serverAccount({ folder, data, binary: binaries.postgres });
    const make = { cluster, binaries, account, settings, log, signal };
    if (!existsSync(cluster)) await createCluster(folder, make);
    const password = (await readFile(join(cluster, 'password'), 'utf8')).trim();
    const server = await lockedServer(folder, password, make);
    for (const name of await readdir(folder)) {
      if (!name.startsWith(DRAFT)) continue;
      // Fails while another start, which comes too late, still writes there.
      await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
    }
    // Ends the server with this process, unless the process is killed.
    const onExit = () => send(server.pid, 'SIGQUIT');
    process.once('exit', onExit);
    return {
      url: url(server.port, password),
      pid: server.pid,
      stop: async () => {
        await stop(server, cluster);
        process.off('exit', onExit);
      },
    };
  } catch (error) {
    throw explained(error, folder);
  }
}

/** Makes an error of a file one that says what to do. */
function explained(error: unknown, folder: string): unknown {
  if (!(error instanceof Error)) return error;
  const { path, syscall, code } = error as NodeJS.ErrnoException;
  // A write does not name its file, so its errors have no `path`.
  if (path === undefined && syscall !== 'write') return error;
  const remedy =
    code === 'ENOSPC' ? 'free some space' : 'make it a folder that is yours and writable';
  return new StartupError(
    `the local database cannot be kept in ${folder} (${error.message}): ${remedy}, or set DATABASE_URL`,
    { cause: error },
  );
}

/** What a start needs to know. */
interface Start extends Required<EmbeddedPostgresOptions> {
  readonly cluster: string;
  readonly binaries: EmbeddedBinaries;
  readonly account: ServerAccount;
}

/** The server of a cluster, found or started, once this is the one instance on it. */
async function lockedServer(
  folder: string,
  password: string,
  start: Start,
): Promise<RunningServer> {
  const { cluster, log, signal } = start;
  const slow = setTimeout(() => log('waiting for the database'), 2_000);
  let begin: number | undefined;
  try {
    for (;;) {
      const running = await runningServer(cluster, password, signal);
      // The time that a server takes to start or to end is not counted.
      const waited = performance.now() - (begin ??= performance.now());
      const server = running ?? (await launch(password, start, waited > LIMITS.attempts));
      // The query fails when the server ends meanwhile.
      const ours = server && (await isOurs(server).catch(() => undefined));
      if (server && ours) return server;
      await server?.session.end().catch(() => {});
      if (ours === false && waited > LIMITS.lock) {
        throw new StartupError(
          `the plant store is already running on ${folder}: stop it first, or set DATABASE_URL`,
        );
      }
      // The server lost a race for its port or folder, or processes of a killed server are still ending.
      await sleep(LIMITS.betweenAttempts, undefined, { signal });
    }
  } finally {
    clearTimeout(slow);
  }
}

interface RunningServer {
  readonly pid: number;
  readonly port: number;
  /** Holds the advisory lock for as long as it is connected. */
  readonly session: Client;
  /** Absent when somebody else has started the server. */
  readonly child?: ChildProcess;
}

/** Takes the lock of the one instance on the folder; whether nobody else has it. */
async function isOurs({ session }: RunningServer): Promise<boolean> {
  const { rows } = await session.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS taken',
    [INSTANCE_LOCK],
  );
  return rows[0]?.taken === true;
}

/* A cluster is made under another name and moved to its place when it is complete, so that a start
   that is interrupted, or two starts at once, leave either a whole one or none. */
const DRAFT = 'postgres-new-';

async function createCluster(folder: string, start: Start): Promise<void> {
  start.log('creating the database, once');
  const draft = await mkdtemp(join(folder, DRAFT));
  try {
    const complaint = await initialize(draft, start);
    // Another start may have created the cluster meanwhile.
    if (complaint === undefined) {
      await rename(draft, start.cluster).catch((error: unknown) => {
        if (!existsSync(start.cluster)) throw error;
      });
    }
    start.signal.throwIfAborted();
    if (existsSync(start.cluster)) return;
    throw new StartupError(
      `the database could not be created in ${folder} (${complaint}): mend that, or set DATABASE_URL`,
    );
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Fills the folder of a new cluster; what `initdb` complains about, if it fails. */
async function initialize(
  draft: string,
  { account, binaries, signal }: Start,
): Promise<string | undefined> {
  const passwordFile = join(draft, 'password');
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (account.uid !== undefined) {
    for (const path of [draft, passwordFile]) await chown(path, account.uid, account.gid ?? -1);
  }
  const initdb = spawnAs(
    account,
    binaries.initdb,
    [
      `--pgdata=${join(draft, 'data')}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Equal on every system, and folds the case of all letters, not of ASCII alone.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ],
    // In a process group of its own, so that a signal also reaches the programs that initdb runs.
    { detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let complaint = '';
  initdb.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const interrupt = () =>
    void end(groupOf(initdb), ['SIGTERM', 'SIGKILL'], () => hasExited(initdb));
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    const [code] = await once(initdb, 'close');
    return code === 0 ? undefined : complaint.trim().split('\n')[0];
  } catch (error) {
    return (error as Error).message;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

/** The target of signals for a detached process and its children; Windows has no process groups. */
function groupOf({ pid }: ChildProcess): number | undefined {
  return pid === undefined || process.platform === 'win32' ? pid : -pid;
}

/** The server that runs on the cluster, if any. Waits for a server that is starting or ending. */
async function runningServer(
  cluster: string,
  password: string,
  signal: AbortSignal,
): Promise<RunningServer | undefined> {
  const deadline = performance.now() + LIMITS.start;
  let pid: number | undefined;
  while (performance.now() < deadline) {
    const file = await postmasterFile(cluster);
    // A server that shuts down removes its file before it exits.
    pid = file?.pid ?? pid;
    if (pid === undefined || !send(pid, 0)) return undefined;
    if (await isStale(pid, cluster)) {
      // Unless another start has replaced it meanwhile.
      if ((await postmasterFile(cluster))?.pid === pid) {
        await rm(join(cluster, 'data', 'postmaster.pid'), { force: true });
      }
      return undefined;
    }
    if (file?.ready) return await connect(file, password).catch(() => undefined);
    await sleep(LIMITS.poll, undefined, { signal });
  }
  return undefined;
}

/**
 * Whether the process id in `postmaster.pid` is no server of the cluster, which PostgreSQL itself cannot
 * tell: the server has become a zombie, or another program has got its id since the machine crashed. The
 * working directory of a server is its data; a zombie has none.
 */
async function isStale(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    const directory = await readlink(`/proc/${pid}/cwd`);
    return directory !== (await realpath(join(cluster, 'data')));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Starts a server; `undefined` when it ends at once and that was not the `last` attempt. */
async function launch(
  password: string,
  { cluster, binaries, account, settings, signal }: Start,
  last: boolean,
): Promise<RunningServer | undefined> {
  const serverLog = join(cluster, 'server.log');
  const output = await open(serverLog, 'w', 0o600);
  const server = spawnAs(
    account,
    binaries.postgres,
    [
      `-D${join(cluster, 'data')}`,
      '--listen_addresses=127.0.0.1',
      `--port=${await freePort()}`,
      '--unix_socket_directories=',
      ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    ],
    // Detached, because Ctrl-C goes to the whole process group, and the service drains first.
    { detached: true, stdio: ['ignore', output.fd, output.fd] },
  );
  // A program that cannot be spawned has an exit code as well, which ends the loop below.
  server.once('error', () => {});
  await output.close();
  server.unref();

  const deadline = performance.now() + LIMITS.start;
  while (!signal.aborted && performance.now() < deadline) {
    const file = await postmasterFile(cluster);
    if (file?.ready && file.pid === server.pid) {
      const running = await connect(file, password).catch(() => undefined);
      if (running !== undefined) return { ...running, child: server };
    }
    if (hasExited(server)) break;
    await sleep(LIMITS.poll);
  }
  await end(server.pid, SHUTDOWN, () => hasExited(server));
  signal.throwIfAborted();
  if (!last) return undefined;
  const lines = (await readFile(serverLog, 'utf8')).trim().split('\n');
  const reason = lines.find((line) => line.includes('FATAL:')) ?? lines.at(-1);
  throw new StartupError(`the database did not start (see ${serverLog}): ${reason}`);
}

async function connect(file: PostmasterFile, password: string): Promise<RunningServer> {
  const session = new Client({
    connectionString: url(file.port, password),
    connectionTimeoutMillis: LIMITS.connect,
    query_timeout: LIMITS.connect,
    application_name: 'plant-store instance',
  });
  // The pool reports a lost database.
  session.on('error', () => {});
  await session.connect();
  return { pid: file.pid, port: file.port, session };
}

async function stop(server: RunningServer, cluster: string): Promise<void> {
  const { pid, child, session } = server;
  // A server that is not our child can stay a zombie after its end, so a missing file counts as well.
  const hasEnded = async () =>
    child ? hasExited(child) : !send(pid, 0) || (await postmasterFile(cluster))?.pid !== pid;
  await end(pid, SHUTDOWN, hasEnded);
  void session.end().catch(() => {});
}

/** Fast shutdown, then immediate shutdown (PostgreSQL manual, chapter 18.5). */
const SHUTDOWN = ['SIGINT', 'SIGQUIT'] as const;

/** Sends the signals one after the other, until one has ended the process in time. */
async function end(
  pid: number | undefined,
  signals: readonly NodeJS.Signals[],
  hasEnded: () => boolean | Promise<boolean>,
): Promise<void> {
  for (const signal of signals) {
    if (pid === undefined || (await hasEnded())) return;
    send(pid, signal);
    const deadline = performance.now() + LIMITS.stop;
    while (!(await hasEnded()) && performance.now() < deadline) await sleep(LIMITS.poll);
  }
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** The server's own file of its process id, port and state, one to a line (`src/include/utils/pidfile.h`). */
async function postmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(cluster, 'data', 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, , , , state] = text.split('\n');
  if (!pid || !port) return undefined;
  return { pid: Number(pid), port: Number(port), ready: state?.trim() === 'ready' };
}

function url(port: number, password: string): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return port;
}

/** Sends a signal, or none for 0; whether there is such a process. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
