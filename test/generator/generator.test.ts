import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/* CONTRIBUTING.md, "Add a resource", from the first command to the last. */

const run = promisify(execFile);
const PACKAGES = ['node_modules', 'clients/typescript/node_modules'];

let project: string;

/** Runs a command of npm in the copy. Fails with what it printed. */
async function npm(...words: readonly string[]): Promise<string> {
  try {
    const environment = { ...process.env, NODE_ENV: undefined, VITEST: undefined };
    return (await run('npm', words, { cwd: project, env: environment })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    const output = `${stdout.slice(-4_000)}\n${stderr.slice(-4_000)}`;
    throw new Error(`npm ${words.join(' ')}\n${output}`, { cause: error });
  }
}

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'plant-store-generator-'));
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
  for (const file of stdout.trimEnd().split('\n')) {
    await cp(file, join(project, file), { recursive: true });
  }
  for (const packages of PACKAGES) {
    await rm(join(project, packages), { recursive: true, force: true });
    await symlink(resolve(packages), join(project, packages));
  }
});

afterAll(() => rm(project, { recursive: true, force: true }));

describe('a generated resource', () => {
  it('is written, with its documents', async () => {
    expect(await npm('run', 'generate', '--', 'orchard', 'orchards')).toContain('src/orchards');
  });

  it.each(['format:check', 'lint', 'types'])('passes npm run %s', async (script) => {
    await npm('run', script);
  });

  it('passes its own tests, and the tests of all resources', async () => {
    await npm('test', '--', 'orchards', 'resources/resources', 'operations', 'openapi', 'scopes');
  });
});
