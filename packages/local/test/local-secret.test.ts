import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localSecret, secretOf, TOKEN } from '../src/local-secret.js';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-token-'));
  file = join(folder, 'token');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the token of a local instance', () => {
  it('is generated once, and readable only by its owner', async () => {
    const token = await localSecret(folder, TOKEN);
    // Nothing that a shell or a program takes for something else, such as an option.
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(await localSecret(folder, TOKEN)).toBe(token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['token']);
  });

  it.each(['', 'half', 'two words that are longer than any token has to be', '\0'.repeat(44)])(
    'is not replaced when the file has other content: %j',
    async (content) => {
      await writeFile(file, content);
      await expect(localSecret(folder, TOKEN)).rejects.toThrow(
        `${file} does not contain a valid token: restore it, or delete it to get a new token, or set AUTH_TOKEN`,
      );
      expect(await readFile(file, 'utf8')).toBe(content);
    },
  );

  it('is not replaced when it cannot be read', async () => {
    await mkdir(file);
    await expect(localSecret(folder, TOKEN)).rejects.toThrow(
      /^cannot store the token in .*token \(EISDIR.*\): restore it, or delete it to get a new token, or set AUTH_TOKEN$/,
    );
    expect(await readdir(folder)).toEqual(['token']);
  });

  it('names the file when it cannot be written', async () => {
    await mkdir(`${file}.new`);
    await expect(localSecret(folder, TOKEN)).rejects.toThrow(
      /^cannot store the token in .*token \(EISDIR/,
    );
  });
});

describe('the secret for a variable', () => {
  let made = 0;
  const secret = secretOf('MAIL_KEY', () => `key ${(made += 1)}`);

  it('is made once, and readable only by its owner', async () => {
    expect(await localSecret(folder, secret)).toBe('key 1');
    expect(await localSecret(folder, secret)).toBe('key 1');
    expect((await stat(join(folder, 'mail-key'))).mode & 0o777).toBe(0o600);
  });

  it('is not replaced when the file is empty', async () => {
    await writeFile(join(folder, 'mail-key'), '\n');
    await expect(localSecret(folder, secret)).rejects.toThrow(
      /mail-key does not contain a valid mail-key: restore it, or delete it to get a new mail-key, or set MAIL_KEY$/,
    );
  });
});
