import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupError } from '../errors/startup.error.js';

/** As whom the embedded server runs. PostgreSQL refuses to run as root. */
export interface ServerAccount {
  /** What the command line of a program begins with. */
  readonly command: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** Paths that the account needs access to. */
interface AccountNeeds {
  /** Holds everything of the instance. */
  readonly folder: string;
  /** The server's data, which may not exist yet. */
  readonly data: string;
  /** One of the server's programs. */
  readonly binary: string;
}

/**
 * An ordinary user is the account itself. Root keeps its files: in a user namespace of its own, the
 * server merely sees another number for it, so that it also runs below a home that only root may
 * enter. Where such namespaces are forbidden, an existing system user is taken.
 *
 * @param uid who is asking; absent on systems without such numbers
 * @throws StartupError when root finds no account
 */
export async function serverAccount(
  needs: AccountNeeds,
  uid: number | undefined = process.getuid?.(),
): Promise<ServerAccount> {
  if (uid !== 0) return { command: [] };

  const { folder } = needs;
  const owner = await stat(needs.data).catch(() => undefined);
  // The server must own its data, so the owner of existing data runs it.
  if (owner !== undefined && owner.uid !== 0) {
    return reachable(needs, { command: [], uid: owner.uid, gid: owner.gid });
  }
  const users = await systemUsers();
  // initdb looks its user up, so the number must be one that has a name.
  const mapped = users.find((user) => user.uid !== 0)?.uid ?? 1000;
  const namespace = ['--user', `--map-user=${mapped}`, '--'];
  if (spawnSync('unshare', [...namespace, 'true']).status === 0) {
    return { command: ['unshare', ...namespace] };
  }

  const user = users.find(({ name }) => name === 'postgres' || name === 'nobody');
  if (owner !== undefined || user === undefined) throw noAccount(folder);
  return reachable(needs, { command: [], uid: user.uid, gid: user.gid });
}

/** Gives the account access to the folder, and checks that it reaches its files. */
async function reachable(
  { folder, binary }: AccountNeeds,
  account: ServerAccount,
): Promise<ServerAccount> {
  // Files in it stay closed to others by their own modes.
  await chmod(folder, 0o711);
  const { uid = 0, gid = 0 } = account;
  // Not by `cwd`, which is entered before the process changes its user.
  const look = spawnSync('ls', ['-d', join(folder, '.'), binary], { uid, gid, stdio: 'ignore' });
  if (look.status !== 0) throw noAccount(folder);
  return account;
}

function noAccount(folder: string): StartupError {
  return new StartupError(
    `PostgreSQL refuses to run as root, and no other account can run it in ${folder}: start as an ordinary user, or set DATABASE_URL`,
  );
}

/** Starts a program as the account, with nothing of the service's own environment, which can hold secrets. */
export function spawnAs(
  account: ServerAccount,
  program: string,
  programArguments: readonly string[],
  options: Pick<SpawnOptions, 'detached' | 'stdio'>,
): ChildProcess {
  const [command = program, ...rest] = [...account.command, program, ...programArguments];
  const { uid, gid } = account;
  return spawn(command, rest, {
    ...options,
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
}

interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

async function systemUsers(): Promise<SystemUser[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}
