import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

let service: TestService;
let folder: string;

beforeAll(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'plant-store-samples-'));
});

beforeEach(() => service.database.empty());

afterAll(() => Promise.all([service.stop(), rm(folder, { recursive: true, force: true })]));

/** The block of a page that contains a text, and the answer that the page shows below it. */
async function sample(page: string, text: string): Promise<{ commands: string; answer?: string }> {
  const blocks = /^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```)?/gm;
  const found = [...(await readFile(page, 'utf8')).matchAll(blocks)];
  const [, commands, answer] = found.find(([, block = '']) => block.includes(text)) ?? [];
  if (commands === undefined) throw new Error(`${page} has no sample with ${text}`);
  return { commands, ...(answer !== undefined && { answer }) };
}

/** What the commands print when they are pasted into a terminal. */
async function outputOf(commands: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', commands.replaceAll('http://localhost:3000', service.url)],
    { cwd: folder, env: { ...process.env, PLANT_STORE_TOKEN: TOKEN } },
  );
  return stdout;
}

async function create(count: number): Promise<void> {
  await service.database.query(
    `INSERT INTO plants (id, name, tag) SELECT n, 'Aloe', 'indoor' FROM generate_series(1, ${count}) AS n`,
  );
}

describe('docs/catalogue.md', () => {
  it('has a loop that reads all pages', async () => {
    await create(120);
    const { commands } = await sample('docs/catalogue.md', 'while');
    const pages = (await outputOf(commands)).trim().split('\n');
    expect(pages).toHaveLength(3);
    const ids = pages.flatMap((page) => JSON.parse(page) as { id: number }[]).map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 120 }, (_, n) => n + 1));
  });

  it('has a change that holds after the plant of the README was created', async () => {
    const creation = await sample('README.md', '"id": 7');
    await outputOf(creation.commands);
    const { commands, answer } = await sample('docs/catalogue.md', 'If-Match');
    expect(await outputOf(commands)).toBe(answer);
  });
});

describe('docs/import-and-export.md', () => {
  const PAGE = 'docs/import-and-export.md';
  const INCOMPLETE = /is incomplete/;

  it('has an export that tells whether it is complete', async () => {
    await create(2);
    const [exporting, checking] = [
      await sample(PAGE, '/export'),
      await sample(PAGE, 'tail -n 1 plants'),
    ];
    await outputOf(exporting.commands);
    expect(await outputOf(checking.commands)).toBe('');
    const file = join(folder, 'plants.ndjson');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/\n$/, ''));
    expect(await outputOf(checking.commands)).toMatch(INCOMPLETE);
  });

  it('has an import that tells whether it is complete', async () => {
    const { commands } = await sample(PAGE, '/import');
    await writeFile(join(folder, 'plants.ndjson'), '{"id":1,"name":"Aloe"}\n');
    const summary = '{"created":1,"unchanged":0,"refused":0}\n';
    expect(await outputOf(commands)).toBe(summary);
    const elsewhere = commands.replace('/plants/import', '/nowhere');
    expect(await outputOf(elsewhere)).toMatch(INCOMPLETE);
  });
});
