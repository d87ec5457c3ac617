import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localToken } from '../src/local-token.js';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-token-'));
  file = join(folder, 'token');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the token of a local instance', () => {
  it('is generated once, and readable only by its owner', async () => {
    const token = await localToken(folder);
    // Nothing that a shell or a program takes for something else, such as an option.
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(await localToken(folder)).toBe(token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['token']);
  });

  it.each(['', 'half', 'two words that are longer than any token has to be', '\0'.repeat(44)])(
    'is not replaced when the file has other content: %j',
    async (content) => {
      await writeFile(file, content);
      await expect(localToken(folder)).rejects.toThrow(
        `${file} does not contain a valid token: restore it, or delete it to get a new token, or set AUTH_TOKEN`,
      );
      expect(await readFile(file, 'utf8')).toBe(content);
    },
  );

  it('is not replaced when it cannot be read', async () => {
    await mkdir(file);
    await expect(localToken(folder)).rejects.toThrow(
      /^cannot store the token in .*token \(EISDIR.*\): restore it, or delete it to get a new token, or set AUTH_TOKEN$/,
    );
    expect(await readdir(folder)).toEqual(['token']);
  });

  it('names the file when it cannot be written', async () => {
    await mkdir(`${file}.new`);
    await expect(localToken(folder)).rejects.toThrow(/^cannot store the token in .*token \(EISDIR/);
  });
});
