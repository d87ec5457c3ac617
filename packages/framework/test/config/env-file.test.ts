import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { withEnvFile } from '../../src/config/env-file.js';
import { StartupError } from '../../src/errors/startup.error.js';

const PROJECT = process.cwd();

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-env-'));
  process.chdir(folder);
});

afterEach(async () => {
  process.chdir(PROJECT);
  await rm(folder, { recursive: true });
});

it.each([
  ['LF', 'A=1\nB="2"\n'],
  ['CRLF', 'A=1\r\nB="2"\r\n'],
  ['a byte order mark', '\ufeffA=1\nB="2"\n'],
  ['a second byte order mark, as of joined files', 'A=1\n\ufeffB="2"\n'],
  ['two byte order marks', '\ufeff\ufeffA=1\nB="2"\n'],
  ['a byte order mark, a comment and CRLF', '\ufeff# Local\r\nA=1\r\nB = 2\r\n'],
])('a file with %s has all its variables', async (_, text) => {
  await writeFile('.env', text);
  expect(withEnvFile({})).toEqual({ A: '1', B: '2' });
  expect(withEnvFile({ A: '' })).toEqual({ A: '', B: '2' });
});

it('an environment without a file stays as it is', () => {
  expect(withEnvFile({ A: '1' })).toEqual({ A: '1' });
});

it('a file in UTF-16 is an error, because its variables would be lost', async () => {
  const text = 'DATABASE_URL=postgres://u@h/d\r\n';
  const bytes = [`\ufeff${text}`, text].map((content) => Buffer.from(content, 'utf16le'));
  for (const content of [...bytes, ...bytes.map((some) => Buffer.from(some).swap16())]) {
    await writeFile('.env', content);
    expect(() => withEnvFile({})).toThrow(new StartupError('.env must be in UTF-8'));
  }
});

it.each(['\u00a0', '\u200b', ' \u2060', 'export \u00a0'])(
  'a name behind a character that is not visible is an error: %j',
  async (before) => {
    await writeFile('.env', `A=1\n${before}B=2\n`);
    expect(() => withEnvFile({})).toThrow(
      new StartupError('.env: the name of a variable has a character other than visible ASCII'),
    );
  },
);

it('a file that cannot be read is an error', async () => {
  await mkdir('.env');
  expect(() => withEnvFile({})).toThrow(new StartupError('.env cannot be read: EISDIR'));
});
