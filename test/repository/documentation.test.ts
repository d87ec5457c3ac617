import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Marked } from 'marked';
import type { Tokens } from 'marked';
import { describe, expect, it } from 'vitest';
import { VARIABLE_NAMES } from '../support/variables.js';

const FOLDER = 'docs/framework';

const PAGES = [
  'packages/api-reference/README.md',
  'packages/framework/README.md',
  ...readdirSync(FOLDER).map((name) => `${FOLDER}/${name}`),
];

/** The first line of a block that is an excerpt of a file. */
const SOURCE = /^\/\/ ([\w./-]+\.ts)\n/;

/** A line of a block that stands for lines of the file. */
const LEFT_OUT = '// …';

interface Block {
  readonly lang?: string;
  readonly text: string;
}

async function typeScriptOf(page: string): Promise<readonly string[]> {
  const tokens = new Marked().lexer(await readFile(page, 'utf8'));
  const found: string[] = [];
  void new Marked().walkTokens(tokens, (token) => {
    if (token.type !== 'code') return;
    const { lang, text } = token as Block;
    if (lang === 'ts') found.push(text);
  });
  return found;
}

/** The lines of code. A page may indent them in another way, and does not show the marks of the generator. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^\/\/ #(end)?region/.test(line));
}

/** The first line of an excerpt that is not where the file should have it. */
function foreignLine(excerpt: string, source: string): string | undefined {
  const file = linesOf(source);
  const parts = linesOf(excerpt)
    .join('\n')
    .split(LEFT_OUT)
    .map((part) => linesOf(part));
  let from = 0;
  for (const part of parts) {
    const equal = (at: number) => {
      const end = part.findIndex((line, n) => line !== file[at + n]);
      return end === -1 ? part.length : end;
    };
    const starts = Array.from({ length: file.length - from + 1 }, (_, n) => from + n);
    const longest = Math.max(...starts.map(equal));
    if (longest < part.length) return part[longest];
    from = starts.find((at) => equal(at) === longest)! + longest;
  }
  return undefined;
}

describe('the TypeScript blocks', () => {
  it.each([...PAGES, 'CONTRIBUTING.md'])('of %s are what the files contain', async (page) => {
    const foreign: string[] = [];
    for (const block of await typeScriptOf(page)) {
      const [head, path] = SOURCE.exec(block) ?? [];
      if (path === undefined) continue;
      const source = await readFile(path, 'utf8');
      const line = foreignLine(block.slice(head!.length), source);
      if (line !== undefined) foreign.push(`${path}: ${line}`);
    }
    expect(foreign).toEqual([]);
  });

  it.each(PAGES)('of %s name their files', async (page) => {
    const blocks = await typeScriptOf(page);
    expect(blocks.filter((block) => !SOURCE.test(block))).toEqual([]);
  });
});

describe('docs/private-apis.md', () => {
  /** The names in a column of the table, from 0. */
  const namesIn = async (column: number) => {
    const tokens = new Marked().lexer(await readFile('docs/private-apis.md', 'utf8'));
    const table = tokens.find(({ type }) => type === 'table') as Tokens.Table;
    return table.rows.flatMap((row) => row[column]!.text.match(/(?<=`)[\w./-]+(?=`)/g) ?? ['']);
  };

  it('names existing files', async () => {
    const paths = (await namesIn(1)).map((path) =>
      /^(packages\/|bundle\.js$)/.test(path) ? path : `packages/framework/src/${path}`,
    );
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('names existing tests', async () => {
    const folders = ['test', ...readdirSync('packages').map((name) => `packages/${name}/test`)];
    const tests = folders
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      .flatMap((path) => /([\w-]+)(?:\.e2e)?\.test\.ts$/.exec(path)?.[1] ?? []);
    const known = new Set(tests);
    expect((await namesIn(2)).filter((name) => !known.has(name))).toEqual([]);
  });
});

/** What the documentation of the service consists of, besides the record of earlier releases. */
const FILES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', '.env.example', 'docker-compose.yml'];
const TEXTS = FILES.concat(
  ['docs', 'deploy', 'packages']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    .filter((path) => /\.(md|ya?ml)$/.test(path) && !path.includes('node_modules')),
);

it('the documentation and the manifests name no variable that the service does not have', async () => {
  const known = new Set(VARIABLE_NAMES);
  // The beginnings of the names: a mention of another program's variable has another one.
  const beginnings = [...new Set([...known].map((name) => name.split('_')[0]!))].filter(
    (beginning) => !['HOST', 'PORT', 'PUBLIC', 'BODY'].includes(beginning),
  );
  const mention = new RegExp(`(?<![\\w$.-])(?:${beginnings.join('|')})_[A-Z_]+(?![\\w…*])`, 'g');
  const unknown: string[] = [];
  for (const path of TEXTS) {
    for (const [name] of (await readFile(path, 'utf8')).matchAll(mention)) {
      if (!known.has(name)) unknown.push(`${path}: ${name}`);
    }
  }
  expect(unknown).toEqual([]);
});

describe('the scopes', () => {
  const scopes = async () => {
    const { paths } = JSON.parse(await readFile('openapi.json', 'utf8')) as {
      readonly paths: Record<string, Record<string, { readonly 'x-required-scope': string }>>;
    };
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    return [...new Set(operations.map((operation) => operation['x-required-scope']))].toSorted();
  };
  /** Scopes that follow one another, in a sentence or in JSON. */
  const LIST = /(?:[`"][a-z]+:(?:read|write|manage)[`"](?:,?\s+(?:and\s+)?)?)+/g;
  const mentions = (text: string) => text.match(/[a-z]+:(?:read|write|manage)\b/g) ?? [];
  const named = (text: string) => [...new Set(mentions(text))].toSorted();

  it('that docs/sign-in.md tells to register are those that the page asks for', async () => {
    const text = await readFile('docs/sign-in.md', 'utf8');
    const found = text.match(LIST) ?? [];
    expect(found.flatMap(mentions)).toEqual(mentions(text));
    const lists = found.map(named);
    // The settings, and two steps for Keycloak.
    expect(lists).toHaveLength(3);
    for (const list of lists) expect(list).toEqual(await scopes());
  });

  it('that docs/tokens.md lists are all', async () => {
    const [sentence = ''] =
      /The scopes are .*/.exec(await readFile('docs/tokens.md', 'utf8')) ?? [];
    expect(named(sentence)).toEqual(await scopes());
  });
});
