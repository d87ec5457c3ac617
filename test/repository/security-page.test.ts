import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { Marked } from 'marked';
import type { Token } from 'marked';
import { describe, expect, it } from 'vitest';
import { titlesIn } from '../support/test-titles.js';

const PAGE = 'docs/security.md';

interface Named {
  readonly title: string;
  /** Of the file, from the folder of the project. */
  readonly path: string;
}

/** The tests that the page links to. */
async function namedTests(): Promise<readonly Named[]> {
  const found: Named[] = [];
  const marked = new Marked();
  void marked.walkTokens(marked.lexer(await readFile(PAGE, 'utf8')), (token: Token) => {
    if (token.type !== 'link') return;
    const path = posix.join(posix.dirname(PAGE), token['href'] as string);
    if (path.endsWith('.test.ts')) found.push({ title: token['text'] as string, path });
  });
  return found;
}

describe('docs/security.md', () => {
  it('names only tests that exist', async () => {
    const named = await namedTests();
    expect(named.length).toBeGreaterThan(80);
    for (const file of new Set(named.map(({ path }) => path))) {
      const titles = titlesIn(file);
      const missing = named.filter(({ title, path }) => path === file && !titles.has(title));
      expect(missing).toEqual([]);
    }
  });

  it('has every risk of the API Security Top 10, once', async () => {
    const page = await readFile(PAGE, 'utf8');
    const risks = [...page.matchAll(/^\| API(\d+):2023 /gm)].map(([, number]) => Number(number));
    expect(risks).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});
