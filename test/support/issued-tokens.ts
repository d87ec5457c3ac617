import { tmpdir } from 'node:os';
import { CommandProcess, Run } from './plant-store-command.js';
import type { Result } from './plant-store-command.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TokenFormat } from '../../packages/framework/src/auth/issued-tokens/token-format.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { IDENTITY } from '../../src/identity.js';

export const FORMAT = new TokenFormat(IDENTITY);

/** Runs `plant-store token` on a database, in this process. */
export function tokenCommand(databaseUrl: string, ...args: readonly string[]): Promise<Result> {
  return new Run('', ['token', ...args], { env: { DATABASE_URL: databaseUrl } }).result;
}

/** Runs the built `plant-store token` on a database, as an operator does. */
export function tokenProcess(databaseUrl: string, ...args: readonly string[]): Promise<Result> {
  const env = { DATABASE_URL: databaseUrl };
  return new CommandProcess('', ['token', ...args], { env, cwd: tmpdir() }).result;
}

/** The token that a command prints. */
export async function issue(databaseUrl: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tokenCommand(databaseUrl, ...args);
  if (code !== 0) throw new Error(`plant-store token ${args.join(' ')}: ${code} ${stderr}`);
  return stdout.trim();
}

/** Columns of the row of a token. */
export async function storedToken(database: TestDatabase, token: string, columns: string) {
  const statement = `SELECT ${columns} FROM access_tokens WHERE id = $1`;
  const [row = {}] = await database.query(statement, [idOf(token)]);
  return row;
}

/** The status of a request with a token, and the number of an Error. */
export async function call(url: string, token: string, method = 'GET'): Promise<string> {
  const response = await fetch(url, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(method === 'POST' && { body: '{"id":1,"name":"Monstera"}' }),
  });
  const text = await response.text();
  return response.ok
    ? String(response.status)
    : `${response.status} ${/"error":(\d+)/.exec(text)?.[1]}`;
}
