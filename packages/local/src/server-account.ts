import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { chmod, readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { LocalError } from './local-error.js';

/** The user of the embedded server: PostgreSQL does not run as root. */
export interface ServerAccount {
  /** Prefix of each command line. */
  readonly command: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** Paths that the account must be able to access. */
interface AccountNeeds {
  readonly folder: string;
  /** May not exist yet. */
  readonly data: string;
  readonly binary: string;
}

/**
 * Selects the account. An ordinary user runs the server itself. Root, and a user without a name, run it in a user namespace with
 * the uid of another user: the files still belong to them, so this also works in a home folder that only root can enter. Where
 * user namespaces are forbidden, an existing system user runs root's server.
 *
 * @param uid of this process; `undefined` on systems without uids
 * @param hasName false for most uids in containers
 * @throws LocalError if there is no account
 */
export async function serverAccount(
  needs: AccountNeeds,
  uid: number | undefined = process.getuid?.(),
  hasName = isNamed(),
): Promise<ServerAccount> {
  if (uid === undefined || (uid !== 0 && hasName)) return { command: [] };

  const { folder } = needs;
  const owner = await stat(needs.data).catch(() => undefined);
  // The server must own its data, so the owner of existing data runs it.
  if (uid === 0 && owner !== undefined && owner.uid !== 0) {
    return reachable(needs, { command: [], uid: owner.uid, gid: owner.gid });
  }
  const users = await systemUsers();
  // initdb looks up the name of its user, so the uid must have a name.
  const mapped = users.find((user) => user.uid !== 0)?.uid ?? 1000;
  const namespace = ['--user', `--map-user=${mapped}`, '--'];
  if (spawnSync('unshare', [...namespace, 'true']).status === 0) {
    return { command: ['unshare', ...namespace] };
  }

  if (uid !== 0) {
    throw new LocalError(
      `PostgreSQL needs the name of its user, and the user ${uid} has none: add one to /etc/passwd, start the service as another user, or set DATABASE_URL`,
    );
  }
  const user = users.find(({ name }) => name === 'postgres' || name === 'nobody');
  if (owner !== undefined || user === undefined) throw noAccount(folder);
  return reachable(needs, { command: [], uid: user.uid, gid: user.gid });
}

function isNamed(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

/** Gives the account access to the folder, and checks that it can access its files. */
async function reachable(
  { folder, binary }: AccountNeeds,
  account: ServerAccount,
): Promise<ServerAccount> {
  // The files in the folder have stricter modes.
  await chmod(folder, 0o711);
  const { uid = 0, gid = 0 } = account;
  // `cwd` would not check access, because the process enters it before it changes its user.
  const check = spawnSync('ls', ['-d', join(folder, '.'), binary], { uid, gid, stdio: 'ignore' });
  if (check.status !== 0) throw noAccount(folder);
  return account;
}

function noAccount(folder: string): LocalError {
  return new LocalError(
    `PostgreSQL refuses to run as root, and no other user can run it in ${folder}: start the service as an ordinary user, or set DATABASE_URL`,
  );
}

/** Starts a program as the account, without the environment of the service, which can contain secrets. */
export function spawnAs(
  account: ServerAccount,
  program: string,
  programArguments: readonly string[],
  options: Pick<SpawnOptions, 'detached' | 'stdio'>,
): ChildProcess {
  const { command, ...user } = account;
  const [first = program, ...rest] = [...command, program, ...programArguments];
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
  return spawn(first, rest, { ...options, ...user, env });
}

async function systemUsers() {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}
