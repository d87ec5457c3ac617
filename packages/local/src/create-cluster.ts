import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { EmbeddedBinaries } from './embedded-binaries.js';
import { LocalError } from './local-error.js';
import { end } from './processes.js';
import { spawnAs } from './server-account.js';
import type { ServerAccount } from './server-account.js';

export interface Identity {
  /** In kebab case. */
  readonly name: string;
}

/** A database cluster (PostgreSQL manual, chapter 18.2). */
export interface Cluster {
  readonly identity: Identity;
  /** The folder of the data, the password and the log of the server. */
  readonly path: string;
  readonly binaries: EmbeddedBinaries;
  readonly account: ServerAccount;
}

/** A cluster is renamed when it is complete, so that interrupted or concurrent starts leave no incomplete one. */
const DRAFT = 'postgres-new-';

/**
 * pg_trgm asks the C library which characters are letters, whatever the locale provider: in the locale `C`, only ASCII letters.
 * Not every system has `C.UTF-8`.
 */
const CHARACTER_TYPES = ['C.UTF-8', 'en_US.UTF-8', 'C'] as const;

/** For errors of `initdb`. */
const REMEDIES = [
  // The program exists, but not its loader.
  [
    /spawn .* ENOENT|failed to execute/,
    'use a system with glibc, such as Debian (Alpine has musl)',
  ],
  [/file descriptors|open files/, 'raise the limit of open files: `ulimit -n 1024`'],
  [/could not extend|No space left/, 'free some space'],
  // `initdb` runs other programs through a shell, with their paths in double quotes.
  [
    /^sh: |is needed by "?initdb/,
    'move the project to a path without double quotes, dollar signs and backquotes',
  ],
] as const;

/**
 * Creates a cluster, unless a concurrent start does.
 *
 * @throws LocalError
 * @throws AbortError when `signal` aborts
 */
export async function createCluster(cluster: Cluster, signal: AbortSignal): Promise<void> {
  const folder = dirname(cluster.path);
  const draft = await fs.mkdtemp(join(folder, DRAFT));
  try {
    let problem: string | undefined;
    for (const characterType of CHARACTER_TYPES) {
      problem = await runInitdb(draft, characterType, cluster, signal);
      // Reported before anything is written.
      if (!problem?.includes('invalid locale name')) break;
    }
    if (problem === undefined) {
      await fs.rename(draft, cluster.path).catch((error: unknown) => {
        if (!existsSync(cluster.path)) throw error;
      });
    }
    signal.throwIfAborted();
    if (existsSync(cluster.path)) return;
    const [, remedy] = REMEDIES.find(([reason]) => reason.test(problem ?? '')) ?? ['', 'fix that'];
    throw new LocalError(
      `cannot create the database in ${folder} (${problem}): ${remedy}, or set DATABASE_URL`,
    );
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

/** The superuser of the cluster. */
export function userOf({ name }: Identity): string {
  return name.replaceAll('-', '_');
}

/** Removes the drafts of interrupted starts. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await fs.readdir(folder)) {
    if (!name.startsWith(DRAFT)) continue;
    // Fails while a concurrent start still writes there.
    await fs.rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Returns the first line of the error output if `initdb` fails. */
async function runInitdb(
  draft: string,
  characterType: string,
  { identity, account, binaries }: Cluster,
  signal: AbortSignal,
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
      `--username=${userOf(identity)}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Equal on every system, with case folding for all letters, not only ASCII.
      '--locale=C',
      `--lc-ctype=${characterType}`,
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ],
    // In its own process group, so that signals also reach the programs that initdb runs.
    { detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  initdb.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const hasExited = () => initdb.exitCode !== null || initdb.signalCode !== null;
  // Windows has no process groups.
  const group = initdb.pid && (process.platform === 'win32' ? initdb.pid : -initdb.pid);
  const interrupt = () => void end(group, ['SIGTERM', 'SIGKILL'], hasExited);
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
