import { posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import { Marked } from 'marked';
import { Html, html } from './html.js';
import { renderPage } from './page.js';

/**
 * Renders a Markdown file of the project as a page. Its headings get the anchors that GitHub gives them; a
 * link to a file that is not served becomes text.
 *
 * @param path relative to the folder of the project, as in `served`
 */
export function renderMarkdown(
  path: string,
  markdown: string,
  served: ReadonlyMap<string, string>,
): string {
  const slugger = new GithubSlugger();
  let title: string | undefined;
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        title ??= text;
        return `<h${depth} id="${slugger.slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const [target = ''] = href.split('#');
        const isAlive =
          target === '' ||
          URL.canParse(href) ||
          served.has(posix.join(posix.dirname(path), target));
        return isAlive ? html`<a href="${href}">${new Html(content)}</a>`.source : content;
      },
    },
  });
  const content = new Html(marked.parse(markdown, { async: false }));
  return renderPage({
    title: `${title ?? path} · Plant Store`,
    root: '../'.repeat(path.split('/').length),
    current: 'docs',
    main: html`<main class="prose">${content}</main>`,
  });
}
