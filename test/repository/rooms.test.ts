import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';

const FILES = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'packages/*/src/**'],
  {
    encoding: 'utf8',
  },
)
  .trim()
  .split('\n');

it('no folder of the sources has more than 20 files', () => {
  const counts = new Map<string, number>();
  for (const folder of FILES.map((file) => dirname(file))) {
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > 20)).toEqual([]);
});

it('no file of the sources has more than 300 lines', () => {
  const long = FILES.filter((file) => readFileSync(file, 'utf8').split('\n').length > 301);
  expect(long).toEqual([]);
});
