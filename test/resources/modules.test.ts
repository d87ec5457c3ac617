import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ModulesContainer } from '@nestjs/core';
import { expect, it } from 'vitest';
import { createDetachedApp } from '../../packages/framework/src/app/detached-app.js';
import { AppModule } from '../../src/app.module.js';

const FILES = readdirSync('src', { recursive: true })
  .map((name) => join('src', String(name)))
  .filter((name) => name.endsWith('.module.ts'));

const app = await createDetachedApp(AppModule);
const used = [...app.get(ModulesContainer).values()].map(({ metatype }) => metatype);
await app.close();

it.each(FILES)('%s is in use: if not, import it in src/app.module.ts', async (file) => {
  const modules = Object.values((await import(join('../..', file))) as object) as unknown[];
  expect(modules).not.toEqual([]);
  for (const module of modules) expect(used).toContain(module);
});
