import { readFileSync } from 'node:fs';
import { posix, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { slug } from 'github-slugger';
import { lexer, walkTokens } from 'marked';
import { defineConfig } from 'vitepress';
import type { DefaultTheme, MarkdownOptions } from 'vitepress';
import { accessibleTheme } from './accessible-theme.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const INDEX = 'docs/README.md';

/** The pages of the site that have another name on GitHub. */
const NAMES: Readonly<Record<string, string>> = {
  'docs/home.md': 'index.md',
  'README.md': 'start.md',
};

/** Of the docs page, as an address that needs no file. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  readFileSync(resolve(ROOT, 'packages/api-reference/public/icon.svg'), 'utf8'),
)}`;

/** VitePress asks the storage for the color scheme outside of `try`, and its search asks whether there is one. */
const STORAGE = `for (const name of ['localStorage', 'sessionStorage']) {
  try {
    globalThis[name].getItem('');
  } catch {
    const value = { getItem: () => null, setItem() {}, removeItem() {} };
    Object.defineProperty(globalThis, name, { value });
  }
}`;

/** GitHub sets these variables in its workflows. */
const {
  GITHUB_SERVER_URL: host,
  GITHUB_REPOSITORY: repository,
  GITHUB_SHA: revision,
} = process.env;

/** The name of a page on the site. GitHub shows the README of a folder, and a site its index. */
const onSite = (page: string): string => NAMES[page] ?? page.replace(/README\.md$/, 'index.md');

const addressOf = (page: string): string => `/${onSite(page).replace(/index\.md$/, '')}`;

interface Group {
  readonly text: string;
  readonly items: DefaultTheme.NavItemWithLink[];
}

/** The menu has what the index links to. */
function menu(): Group[] {
  const groups: Group[] = [];
  void walkTokens(lexer(readFileSync(resolve(ROOT, INDEX), 'utf8')), (token) => {
    if (token.type === 'heading' && token['depth'] === 2) {
      groups.push({ text: String(token['text']), items: [] });
    }
    if (token.type !== 'link') return;
    const page = posix.join('docs', String(token['href']));
    if (!page.endsWith('.md')) return;
    groups
      .at(-1)!
      .items.push({ text: String(token['text']).replaceAll('`', ''), link: addressOf(page) });
  });
  return groups;
}

/**
 * Pages link to one another and to files of the repository as GitHub needs it. Files that are no pages are read at the
 * repository. Where that has no address, only their names are left.
 */
const links: NonNullable<MarkdownOptions['config']> = (md) => {
  md.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
    const { realPath, path } = env as { readonly realPath?: string; readonly path: string };
    const folder = posix.dirname(relative(ROOT, realPath ?? path));
    const inline = tokens.flatMap(({ children }) => children ?? []);
    for (const [index, token] of inline.entries()) {
      const href = token.type === 'link_open' ? (token.attrGet('href') ?? '') : '#';
      if (/^(#|[a-z]+:)/.test(href)) continue;
      const [, name = '', fragment = ''] = /^([^#]*)(.*)$/.exec(href) ?? [];
      const file = posix.join(folder, name);
      if (file.endsWith('.md')) {
        token.attrSet('href', `${addressOf(file)}${fragment}`);
      } else if (repository !== undefined) {
        token.attrSet('href', `${host}/${repository}/blob/${revision}/${file}`);
      } else {
        const end = inline.slice(index).find(({ type }) => type === 'link_close')!;
        for (const part of [token, end])
          Object.assign(part, { type: 'name', tag: 'span', attrs: null });
      }
    }
  });
};

/** What the search looks in. Words of readers that a page does not have stand below its headings: `<!-- keywords: … -->`. */
const FIELDS = {
  fields: ['title', 'titles', 'text', 'keywords'],
  extractField: (part: Readonly<Record<string, string>>, field: string): string =>
    field === 'keywords'
      ? (/\[keywords: (.*?)\]/.exec(part['text'] ?? '')?.[1] ?? '')
      : (part[field] ?? ''),
};

const groups = menu();

// VitePress, which reads this file, wants a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  title: 'Plant Store',
  description: 'A store of plants over HTTP, and the framework that it is made of',
  lang: 'en',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: ICON }],
    ['meta', { name: 'theme-color', content: '#1b7a4b' }],
    ['script', {}, STORAGE],
  ],
  // The pages that are not in `docs` are at the root and in the packages.
  srcDir: '..',
  srcExclude: ['!(docs|examples|packages)/**/*', 'packages/create-service/template/**'],
  outDir: '../dist-docs',
  cacheDir: '../node_modules/.cache/vitepress',
  rewrites: onSite,
  // A running service.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // The usual ones are hard to read on the background of the theme.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: (text) => slug(text) },
    languageAlias: { haproxy: 'nginx' },
    config: links,
  },
  vite: {
    plugins: [accessibleTheme],
    server: { watch: { ignored: ['**/{.data,build,coverage,dist*}/**'] } },
  },
  themeConfig: {
    // On a phone: the menu at the side has a button of its own there, and the one at the top would open an empty page.
    nav: [{ text: 'Documentation', link: addressOf(INDEX) }, ...groups],
    sidebar: groups.map(({ text, items }) => ({ text, items, collapsed: true })),
    logo: ICON,
    search: {
      provider: 'local',
      options: {
        _render: (source, env, md) =>
          md.render(source.replaceAll(/<!-- (keywords: .*?) -->/g, '[$1]'), env),
        miniSearch: {
          options: FIELDS,
          searchOptions: {
            boost: { title: 4, keywords: 4, text: 2, titles: 1 },
            // Who looks for something wants to know how it works, not why or since when.
            boostDocument: (id: string) =>
              /\/decisions\/|CHANGELOG|private-apis/.test(id) ? 0.2 : 1,
            // The words between the others say nothing, and most short words have others beside them.
            processTerm: (term: string) =>
              /^(an?|the|to|of|in|is|do|i|how|my|and|or|on|for|with|what)$/i.test(term)
                ? null
                : term.toLowerCase(),
            fuzzy: (term: string) => term.length > 5 && 0.2,
          },
        },
      },
    },
    outline: [2, 3],
    notFound: {
      title: 'There is no such page',
      quote: 'It may have moved. The search at the top finds it by its words.',
      linkLabel: 'to the home page',
      linkText: 'To the home page',
    },
    ...(repository !== undefined && {
      editLink: { pattern: `${host}/${repository}/edit/main/:path`, text: 'Edit this page' },
      socialLinks: [{ icon: 'github', link: `${host}/${repository}` }],
    }),
  },
});
