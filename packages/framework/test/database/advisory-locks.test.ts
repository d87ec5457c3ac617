import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/database/advisory-locks.js';

/** The key of each call, up to the first parenthesis in it. */
const CALLS = /pg_(?:try_)?advisory_(?:xact_)?(?:un)?lock(?:_shared)?\(([^()]*)/g;

const SOURCES = ['src', 'packages/changes/src', 'packages/command/src', 'examples'].flatMap(
  (folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
);

it('every advisory lock has a key of its own', () => {
  const keys = Object.values(ADVISORY_LOCKS);
  expect(new Set(keys).size).toBe(keys.length);
  // Greater ones belong to the tables.
  for (const key of keys) expect(key / 2 ** 32).toBeLessThan(16_384);
});

it('no other file has a number as the key of an advisory lock', () => {
  const numbers = SOURCES.flatMap((file) => {
    const source = readFileSync(file, 'utf8');
    return [...source.matchAll(CALLS)]
      .filter(([, key = '']) => {
        const [, name] = /^\$\{(\w+)\}$/.exec(key) ?? [];
        return /^\s*\d/.test(key) || new RegExp(`const ${name} = \\d`).test(source);
      })
      .map(([call]) => `${file}: ${call}`);
  });
  expect(numbers).toEqual([]);
});
