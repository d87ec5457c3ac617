import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { documentWith, feed, resource, runWith } from './support/tool-library.js';

const DOCUMENT = documentWith(resource('tools'), resource('loans'), feed('changes', 'toolId'));

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout } = await runWith(DOCUMENT, ['completion', shell]);
  expect(code).toBe(0);
  return stdout;
}

describe('completion in bash', () => {
  it.each([
    ['im', ['import']],
    ['token r', ['revoke', 'rotate']],
    ['import tools.csv --sep', ['--separator']],
    ['changes --tool', ['--tool-id']],
    ['token create --sc', ['--scope']],
    ['export --resource l', ['loans']],
    ['completion z', []],
  ])('of %j', async (line, expected) => {
    const words = ['tool-library', ...line.split(' ')];
    const program = `${await scriptFor('bash')}
COMP_WORDS=(${words.join(' ')})
COMP_CWORD=${words.length - 1}
_tool_library
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', program]);
    expect(stdout.trim().split('\n').filter(Boolean)).toEqual(expected);
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
