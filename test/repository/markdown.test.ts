import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import GithubSlugger from 'github-slugger';
import { Marked } from 'marked';
import type { Token } from 'marked';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Folders of third parties. */
const LEFT_OUT = new Set([
  '.git',
  '.data',
  'node_modules',
  'dist',
  'coverage',
  'screenshots',
  'generated',
]);

/** What a path begins with that must exist. */
const FOLDERS = /^(src|packages|examples|clients|test|docs|deploy|contract|bench)\/\S*$/;

async function markdownFiles(folder = ''): Promise<string[]> {
  const entries = await readdir(folder || '.', { withFileTypes: true });
  const found = entries.map(async (entry) => {
    const path = folder + entry.name;
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : markdownFiles(`${path}/`);
    return path.endsWith('.md') ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

const files = await markdownFiles();

/** All tokens of a Markdown file, at any depth. */
async function tokensOf(file: string): Promise<Token[]> {
  const marked = new Marked();
  const tokens: Token[] = [];
  const collect = (token: Token): void => void tokens.push(token);
  void marked.walkTokens(marked.lexer(await readFile(file, 'utf8')), collect);
  return tokens;
}

/** The anchors that GitHub generates for the headings. */
async function anchorsOf(file: string): Promise<Set<string>> {
  const slugger = new GithubSlugger();
  return new Set(
    (await tokensOf(file)).flatMap((token) =>
      token.type === 'heading' ? [slugger.slug((token as { text: string }).text)] : [],
    ),
  );
}

/** The reason why a link is broken. */
async function faultOf(file: string, href: string): Promise<string | undefined> {
  if (/^https?:/.test(href)) return URL.canParse(href) ? undefined : 'is no URL';
  const [path = '', anchor] = href.split('#');
  const target = path === '' ? file : join(dirname(file), decodeURI(path));
  if (!existsSync(target)) return 'has no file';
  if (anchor !== undefined && !(await anchorsOf(target)).has(anchor)) return 'has no heading';
  return undefined;
}

describe('the Markdown files', () => {
  it('exist', () => {
    expect(files).toContain('README.md');
    expect(files.some((file) => file.startsWith('docs/decisions/'))).toBe(true);
  });

  it.each(files)(
    '%s links to existing files and headings, and to well-formed URLs',
    async (file) => {
      const faults: string[] = [];
      for (const token of await tokensOf(file)) {
        if (token.type !== 'link' && token.type !== 'image') continue;
        const { href } = token as { href: string };
        const fault = await faultOf(file, href);
        if (fault !== undefined) faults.push(`${href} ${fault}`);
      }
      expect(faults).toEqual([]);
    },
  );

  it.each(files)('%s names only existing files and folders', async (file) => {
    const spans = (await tokensOf(file)).filter((token) => token.type === 'codespan');
    const paths = spans.map((token) => (token as { text: string }).text);
    const missing = paths.filter((path) => FOLDERS.test(path) && !existsSync(path));
    expect(missing).toEqual([]);
  });

  it('docs/create.svg names only existing files', async () => {
    const picture = await readFile('docs/create.svg', 'utf8');
    const paths = [...picture.matchAll(/class="file"[^>]*>(.*?)</g)].map(([, path]) => path!);
    expect(paths).toHaveLength(8);
    const isThere = (path: string) =>
      existsSync(path.startsWith('src/') ? path : `packages/framework/src/${path}`);
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });
});

it('the README is read in some minutes: it has at most 900 words', async () => {
  expect((await readFile('README.md', 'utf8')).split(/\s+/).length).toBeLessThanOrEqual(900);
});

it('the index, from which the menu of the site is made, has all pages', async () => {
  const links = (await tokensOf('docs/README.md')).filter(({ type }) => type === 'link');
  const linked = new Set(links.map((link) => join('docs', (link as { href: string }).href)));
  const pages = files.filter((file) => /^(docs|packages\/[\w-]+|examples\/[\w-]+)\//.test(file));
  const missing = pages.filter((file) => !linked.has(file) && file !== 'docs/README.md');
  expect(missing).toEqual(['packages/create-service/template/README.md']);
});

describe('the requests in the README', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });

  afterAll(() => service.stop());

  it('get the documented answers when pasted one after the other', async () => {
    const blocks = (await tokensOf('README.md')).filter((token) => token.type === 'code') as {
      lang: string;
      text: string;
    }[];
    const requests = blocks.flatMap(({ lang, text }, at) =>
      lang === 'sh' && text.startsWith('curl ') ? [{ text, answer: blocks[at + 1] }] : [],
    );
    expect(requests.length).toBeGreaterThan(1);
    for (const { text, answer } of requests) {
      expect(answer?.lang).toBe('text');
      const line = text.replace('http://localhost:3000', service.url);
      const { stdout } = await promisify(execFile)('bash', ['-c', line], {
        env: { ...process.env, PLANT_STORE_TOKEN: TOKEN },
      });
      // The prompt of a shell begins on a line of its own.
      expect(stdout).toBe(`${answer?.text}\n`);
    }
  });
});
