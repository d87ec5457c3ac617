import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Identity } from '../config/identity.js';
import { forgetLibpqVariables } from './libpq-variables.js';
import { readyServer } from './postgres-server.js';

/** The URL of the embedded database that runs on a folder, for a second program. `undefined` if none runs. */
export async function runningDatabase(
  identity: Pick<Identity, 'name'>,
  folder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  forgetLibpqVariables();
  const path = join(folder, 'postgres');
  const password = await readFile(join(path, 'password'), 'utf8').catch(() => undefined);
  if (password === undefined) return undefined;
  const server = await readyServer({ identity, path }, password.trim(), signal);
  await server?.session.end();
  return server?.url;
}
