import { existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCluster, removeDrafts } from './create-cluster.js';
import type { Cluster, Identity } from './create-cluster.js';
import { embeddedBinaries } from './embedded-binaries.js';
import { LocalError } from './local-error.js';
import { forgetLibpqVariables, launchServer, readyServer, stopServer } from './postgres-server.js';
import type { PostgresServer } from './postgres-server.js';
import { sendSignal } from './processes.js';
import { serverAccount } from './server-account.js';

/** A running PostgreSQL server with its data in a folder. */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

interface EmbeddedPostgresOptions {
  /** Called before each step that can take long. */
  readonly log?: (step: string) => void;
  /** Server settings, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Aborts the start, and ends the processes that it has started. */
  readonly signal?: AbortSignal;
}

/** The key of the advisory lock of an instance. Others of the database are in `database/advisory-locks.ts` of the framework. */
const LOCK = 7_526_841_014;

/** In milliseconds. */
const LIMITS = {
  /** For restarts of a server that exits during its start. */
  attempts: 3_000,
  /** Until the server notices that a killed instance has disconnected. */
  lock: 1_000,
  betweenAttempts: 100,
} as const;

/**
 * Starts a server on a folder, and creates the folder if it does not exist. Takes over the server of an instance that
 * was killed.
 *
 * @throws LocalError also when another instance uses the folder
 * @throws AbortError when `signal` aborts the start
 */
export async function startEmbeddedPostgres(
  identity: Identity,
  folder: string,
  {
    log = () => {},
    settings = {},
    signal = new AbortController().signal,
  }: EmbeddedPostgresOptions = {},
) {
  // PostgreSQL's own files have a path in each line.
  if (/[\r\n]/.test(folder)) {
    throw new LocalError(
      'the local database needs a path without line breaks: move the project, or set DATABASE_URL',
    );
  }
  forgetLibpqVariables();
  const binaries = await embeddedBinaries();
  try {
    const path = join(folder, 'postgres');
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    const data = join(path, 'data');
    const account = await serverAccount({ folder, data, binary: binaries.postgres });
    const cluster = { identity, path, binaries, account };
    if (!existsSync(path)) {
      log('creating the database (first start only)');
      await createCluster(cluster, signal);
    }
    const server = await lockedServer(cluster, { log, settings, signal });
    await removeDrafts(folder);
    // If this process exits without `stop()`.
    const onExit = () => sendSignal(server.pid, 'SIGQUIT');
    process.once('exit', onExit);
    return {
      url: server.url,
      pid: server.pid,
      /** Stops the server and waits until it is gone. */
      stop: async () => {
        await stopServer(server, cluster);
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
  return new LocalError(
    `cannot store the local database in ${folder} (${error.message}): ${remedy}, or set DATABASE_URL`,
    { cause: error },
  );
}

/** Finds or starts the server of a cluster, and takes the lock for the duration of its session. */
async function lockedServer(
  cluster: Cluster,
  { log, settings, signal }: Required<EmbeddedPostgresOptions>,
): Promise<PostgresServer> {
  const password = (await fs.readFile(join(cluster.path, 'password'), 'utf8')).trim();
  const slow = setTimeout(() => log('waiting for the database'), 2_000);
  let begin: number | undefined;
  try {
    for (;;) {
      const running = await readyServer(cluster, password, signal);
      signal.throwIfAborted();
      // The time of a server that is starting or ending does not count.
      const waited = performance.now() - (begin ??= performance.now());
      const isLast = waited > LIMITS.attempts;
      const server = running ?? (await launchServer(cluster, password, settings, signal, isLast));
      // The query fails if the server ends meanwhile.
      const isLocked = server && (await takeLock(server).catch(() => undefined));
      if (server && isLocked) return server;
      await server?.session.end().catch(() => {});
      if (isLocked === false && waited > LIMITS.lock) {
        throw new LocalError(
          `${cluster.identity.name} is already running on ${dirname(cluster.path)}: stop it first, or set DATABASE_URL`,
        );
      }
      // Another process took the port or the folder, or processes of a killed server are still ending.
      await sleep(LIMITS.betweenAttempts, undefined, { signal });
    }
  } finally {
    clearTimeout(slow);
  }
}

async function takeLock({ session }: PostgresServer): Promise<boolean> {
  const { rows } = await session.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_lock($1) AS taken',
    [LOCK],
  );
  return rows[0]?.taken === true;
}
