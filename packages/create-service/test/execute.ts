import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Packages that are in the cache of npm are not fetched again. */
export const ENVIRONMENT = {
  ...process.env,
  NODE_ENV: undefined,
  VITEST: undefined,
  npm_config_prefer_offline: 'true',
};

/** Fails with what the command printed. */
export async function execute(
  command: string,
  words: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    const env = { ...ENVIRONMENT, ...environment };
    return (await promisify(execFile)(command, words, { cwd, env })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    const output = `${stdout.slice(-4_000)}\n${stderr.slice(-4_000)}`;
    throw new Error(`${command} ${words.join(' ')}\n${output}`, { cause: error });
  }
}
