import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FEATURES } from '../../src/features.js';

const FILES = readdirSync('src', { recursive: true })
  .map((name) => join('src', String(name)))
  .filter((name) => name.endsWith('.feature.ts'));

it.each(FILES)('%s is in use: if not, add it to FEATURES in src/features.ts', async (file) => {
  const exported: unknown[] = Object.values((await import(join('../..', file))) as object);
  expect(FEATURES.some((feature) => exported.includes(feature))).toBe(true);
});
