import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { documentWith, feed, resource, runWith, WEBHOOKS } from './support/tool-library.js';

const RESOURCES = [resource('tools'), resource('loans'), feed('changes', 'toolId')];
const DOCUMENT = {
  ...documentWith(...RESOURCES, WEBHOOKS.paths),
  webhooks: WEBHOOKS.webhooks,
};

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout } = await runWith(DOCUMENT, ['completion', shell]);
  expect(code).toBe(0);
  return stdout;
}

/** zsh and fish write to the home folder. */
async function home(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tool-library-home-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const hasShell = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

const LINES: readonly [line: string, expected: readonly string[]][] = [
  ['im', ['import']],
  ['token r', ['revoke', 'rotate']],
  ['import tools.csv --sep', ['--separator']],
  ['changes --tool', ['--tool-id']],
  ['token create --sc', ['--scope']],
  ['export --resource l', ['loans']],
  ['completion z', ['zsh']],
  ['webhooks de', ['deliveries']],
  ['webhooks rese', ['resend']],
  ['webhooks update --kinds c', ['created']],
  ['webhooks create --kinds r', ['removed']],
  ['listen --f', ['--forward-to']],
];

async function printedBy(shell: string, program: string): Promise<string> {
  const options = { env: { ...process.env, HOME: await home() } };
  const { stdout } = await promisify(execFile)(shell, ['-c', program], options);
  return stdout;
}

describe.for(['bash', 'zsh'].filter(hasShell))('completion in %s', (shell) => {
  it.for(LINES)('of %j', async ([line, expected]) => {
    const words = ['tool-library', ...line.split(' ')];
    // As `bashcompinit` calls the function. zsh itself leaves out what does not begin as the word does.
    const program = `${await scriptFor(shell)}
${shell === 'zsh' ? 'emulate sh' : ''}
COMP_WORDS=(${words.join(' ')})
COMP_CWORD=${words.length - 1}
_tool_library
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const found = (await printedBy(shell, program)).trim().split('\n');
    const begins = (each: string) => shell === 'bash' || each.startsWith(words.at(-1)!);
    expect(found.filter(begins)).toEqual(expected);
  });
});

describe.runIf(hasShell('fish'))('completion in fish', () => {
  it.for(LINES)('of %j', async ([line, expected]) => {
    const program = `${await scriptFor('fish')}\ncomplete -C'tool-library ${line}'`;
    const lines = (await printedBy('fish', program)).trim().split('\n');
    expect(lines.map((each) => each.split('\t')[0])).toEqual(expected);
  });
});

it('zsh reads the script of bash, and fish has a line for each command and option', async () => {
  expect(await scriptFor('zsh')).toBe(
    `autoload -Uz compinit bashcompinit\ncompinit\nbashcompinit\n${await scriptFor('bash')}`,
  );
  const fish = await scriptFor('fish');
  expect(fish).toContain(
    "complete -c tool-library -n '__fish_seen_subcommand_from import' -l separator -r -d ",
  );
  expect(fish).toContain(" -l resource -x -a 'tools loans' -d ");
  expect(fish).toMatch(
    /^complete -c tool-library -f -n 'not __fish_seen_subcommand_from import .*' -a import -d '/m,
  );
});

it('another shell is a wrong argument', async () => {
  const { code, stderr } = await runWith(DOCUMENT, ['completion', 'csh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish')]);
});
