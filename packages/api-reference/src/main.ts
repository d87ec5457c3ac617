#!/usr/bin/env node
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { apiReference } from './api-reference.js';

const [document, folder] = process.argv.slice(2);
if (document === undefined || folder === undefined) {
  process.stderr.write('usage: api-reference OPENAPI.json FOLDER\n');
  process.exit(2);
}
const files = apiReference(await readFile(document, 'utf8'), { extension: '.html' });
for (const [path, { content }] of [...files, ['index.html', files.get('docs.html')!] as const]) {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, await content());
}
