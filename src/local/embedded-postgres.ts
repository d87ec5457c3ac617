import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
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

/** A running PostgreSQL server with its data in a folder. */
export interface EmbeddedPostgres {
  readonly url: string;
  readonly pid: number;
  /** Stops the server and waits until it is gone. */
  stop(): Promise<void>;
}

interface EmbeddedPostgresOptions {
  /** Called before each step that can take long. */
  readonly log?: (step: string) => void;
  /** Server settings, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Aborts the start, and ends the processes that it has started. */
  readonly signal?: AbortSignal;
}

/** Timeouts and intervals, in milliseconds. */
const LIMITS = {
  /** For the server to accept connections, including crash recovery. */
  start: 60_000,
  /** For a fast shutdown, before an immediate shutdown. */
  stop: 10_000,
  connect: 5_000,
  /** For further attempts if the server exits during its start. */
  attempts: 3_000,
  /** For the server to notice that a killed instance has disconnected. */
  lock: 1_000,
  betweenAttempts: 100,
  poll: 20,
} as const;

const USER = 'plant_store';

/** Key of the advisory lock that permits a single instance for each folder. */
const INSTANCE_LOCK = 7_526_841_014;

/**
 * Starts a server on a folder, and creates the folder if it does not exist. Takes over the server of an instance that
 * was killed.
 *
 * @throws StartupError also when another instance uses the folder
 * @throws AbortError when `signal` aborts the start
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
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    const data = join(cluster, 'data');
    const account = await serverAccount({ folder, data, binary: binaries.postgres });
    const make = { cluster, binaries, account, settings, log, signal };
    if (!existsSync(cluster)) await createCluster(folder, make);
    const password = (await fs.readFile(join(cluster, 'password'), 'utf8')).trim();
    const server = await lockedServer(folder, password, make);
    for (const name of await fs.readdir(folder)) {
      if (!name.startsWith(DRAFT)) continue;
      // Fails while a concurrent start still writes there.
      await fs.rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
    }
    // Stops the server if this process exits without `stop()`.
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

/** Turns a file system error into a message with a remedy. */
function explained(error: unknown, folder: string): unknown {
  if (!(error instanceof Error)) return error;
  const { path, syscall, code } = error as NodeJS.ErrnoException;
  // Errors of `write` have no `path`.
  if (path === undefined && syscall !== 'write') return error;
  const remedy =
    code === 'ENOSPC' ? 'free some space' : 'make it a folder that you own and can write to';
  return new StartupError(
    `cannot store the local database in ${folder} (${error.message}): ${remedy}, or set DATABASE_URL`,
    { cause: error },
  );
}

interface Start extends Required<EmbeddedPostgresOptions> {
  readonly cluster: string;
  readonly binaries: EmbeddedBinaries;
  readonly account: ServerAccount;
}

/** Finds or starts the server of a cluster, and takes the lock of the folder. */
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
      // The time of a server that is starting or ending does not count.
      const waited = performance.now() - (begin ??= performance.now());
      const server = running ?? (await launch(password, start, waited > LIMITS.attempts));
      // The query fails if the server ends meanwhile.
      const isLocked = server && (await takeLock(server).catch(() => undefined));
      if (server && isLocked) return server;
      await server?.session.end().catch(() => {});
      if (isLocked === false && waited > LIMITS.lock) {
        throw new StartupError(
          `the plant store is already running on ${folder}: stop it first, or set DATABASE_URL`,
        );
      }
      // Another process took the port or the folder, or processes of a killed server are still ending.
      await sleep(LIMITS.betweenAttempts, undefined, { signal });
    }
  } finally {
    clearTimeout(slow);
  }
}

interface RunningServer {
  readonly pid: number;
  readonly port: number;
  /** Holds the advisory lock while it is connected. */
  readonly session: Client;
  /** `undefined` if another instance started the server. */
  readonly child?: ChildProcess;
}

/** Tries to take the lock of the folder. */
async function takeLock({ session }: RunningServer): Promise<boolean> {
  const { rows } = await session.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS taken',
    [INSTANCE_LOCK],
  );
  return rows[0]?.taken === true;
}

/* A cluster is created under a temporary name and renamed when it is complete, so that an interrupted start, or two
   concurrent starts, cannot leave an incomplete cluster. */
const DRAFT = 'postgres-new-';

async function createCluster(folder: string, start: Start): Promise<void> {
  start.log('creating the database (first start only)');
  const draft = await fs.mkdtemp(join(folder, DRAFT));
  try {
    const failure = await initialize(draft, start);
    // A concurrent start may have created the cluster meanwhile.
    if (failure === undefined) {
      await fs.rename(draft, start.cluster).catch((error: unknown) => {
        if (!existsSync(start.cluster)) throw error;
      });
    }
    start.signal.throwIfAborted();
    if (existsSync(start.cluster)) return;
    throw new StartupError(
      `cannot create the database in ${folder} (${failure}): fix that, or set DATABASE_URL`,
    );
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

/**
 * pg_trgm asks the C library which characters are letters, whatever the locale provider. In the locale `C`, only ASCII
 * letters are. Not every system has `C.UTF-8`.
 */
const CHARACTER_TYPES = ['C.UTF-8', 'en_US.UTF-8', 'C'] as const;

/** Fills the folder of a new cluster. Returns the first line of `initdb`'s error output if it fails. */
async function initialize(draft: string, start: Start): Promise<string | undefined> {
  let failure: string | undefined;
  for (const characterType of CHARACTER_TYPES) {
    failure = await runInitdb(draft, characterType, start);
    // It says so before it writes anything.
    if (failure === undefined || !failure.includes('invalid locale name')) return failure;
  }
  return failure;
}

async function runInitdb(
  draft: string,
  characterType: string,
  { account, binaries, signal }: Start,
): Promise<string | undefined> {
  const passwordFile = join(draft, 'password');
  await fs.writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (account.uid !== undefined) {
    for (const path of [draft, passwordFile]) await fs.chown(path, account.uid, account.gid ?? -1);
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
      // The same on every system, with case folding for all letters, not only ASCII.
      '--locale=C',
      `--lc-ctype=${characterType}`,
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ],
    // In a separate process group, so that a signal also reaches the programs that initdb runs.
    { detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  initdb.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const interrupt = () =>
    void end(groupOf(initdb), ['SIGTERM', 'SIGKILL'], () => hasExited(initdb));
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    const [code] = await once(initdb, 'close');
    return code === 0 ? undefined : errors.trim().split('\n')[0];
  } catch (error) {
    return (error as Error).message;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

/** The process group of a detached process, as a target of signals. Windows has no process groups. */
function groupOf({ pid }: ChildProcess): number | undefined {
  return pid === undefined || process.platform === 'win32' ? pid : -pid;
}

/** Returns the running server of the cluster, if any. Waits for a server that is starting or ending. */
async function runningServer(
  cluster: string,
  password: string,
  signal: AbortSignal,
): Promise<RunningServer | undefined> {
  const deadline = performance.now() + LIMITS.start;
  let pid: number | undefined;
  while (performance.now() < deadline) {
    const file = await postmasterFile(cluster);
    // A server removes its file shortly before it exits.
    pid = file?.pid ?? pid;
    if (pid === undefined || !send(pid, 0)) return undefined;
    if (await isStale(pid, cluster)) {
      // A concurrent start may have replaced the file meanwhile.
      if ((await postmasterFile(cluster))?.pid === pid) {
        await fs.rm(join(cluster, 'data', 'postmaster.pid'), { force: true });
      }
      return undefined;
    }
    if (file?.ready) return await connect(file, password).catch(() => undefined);
    await sleep(LIMITS.poll, undefined, { signal });
  }
  return undefined;
}

/**
 * Whether the process in `postmaster.pid` is not a server of the cluster: the server is a zombie, or the machine has
 * crashed and another program has the process id now. PostgreSQL itself does not detect this. The working directory of
 * a server is its data folder; a zombie has no working directory.
 */
async function isStale(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    const directory = await fs.readlink(`/proc/${pid}/cwd`);
    return directory !== (await fs.realpath(join(cluster, 'data')));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Starts a server. Returns `undefined` if it exits during its start, unless this is the `last` attempt. */
async function launch(
  password: string,
  { cluster, binaries, account, settings, signal }: Start,
  last: boolean,
): Promise<RunningServer | undefined> {
  const serverLog = join(cluster, 'server.log');
  const output = await fs.open(serverLog, 'w', 0o600);
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
    // Detached, because Ctrl-C signals the whole process group, and the server must outlive the drain.
    { detached: true, stdio: ['ignore', output.fd, output.fd] },
  );
  // If the program cannot be spawned, its exit code ends the loop below.
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
  const lines = (await fs.readFile(serverLog, 'utf8')).trim().split('\n');
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
  // The pool reports a lost connection.
  session.on('error', () => {});
  await session.connect();
  return { pid: file.pid, port: file.port, session };
}

async function stop(server: RunningServer, cluster: string): Promise<void> {
  const { pid, child, session } = server;
  // A server that is not a child process can stay a zombie, so a missing file counts as its end, too.
  const hasEnded = async () =>
    child ? hasExited(child) : !send(pid, 0) || (await postmasterFile(cluster))?.pid !== pid;
  await end(pid, SHUTDOWN, hasEnded);
  void session.end().catch(() => {});
}

/** Signals of a fast, then of an immediate shutdown (PostgreSQL manual, chapter 18.5). */
const SHUTDOWN = ['SIGINT', 'SIGQUIT'] as const;

/** Sends the signals one after the other, with a timeout for each, until the process has ended. */
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

/** Reads `postmaster.pid`, which has process id, port and state on separate lines (`src/include/utils/pidfile.h`). */
async function postmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await fs.readFile(join(cluster, 'data', 'postmaster.pid'), 'utf8').catch(() => '');
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

/** Sends a signal (0: none). Returns whether the process exists. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
