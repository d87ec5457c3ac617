import { posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import { Marked } from 'marked';
import type { Chapter } from './chapters.js';
import { Html, html } from './html.js';
import { renderPage } from './page.js';
import type { Size } from './picture-sizes.js';

interface Heading {
  readonly id: string;
  readonly depth: number;
  readonly title: string;
}

interface Surroundings {
  /** The paths of all files that are served. */
  readonly served: ReadonlyMap<string, string>;
  /** The pages in their order. */
  readonly chapters: readonly Chapter[];
  /** The sizes of pictures, by path. */
  readonly sizes: ReadonlyMap<string, Size>;
}

/** Most characters of a name that stays on one line of a table, also on a phone. */
const SHORT_NAME = 16;

/**
 * Renders a Markdown file of the project as a page, with its contents, and links to the pages before and after it.
 * Its headings get the anchors that GitHub gives them; a link to a file that is not served becomes text.
 *
 * @param path relative to the folder of the project
 */
export function renderMarkdown(
  path: string,
  markdown: string,
  { served, chapters, sizes }: Surroundings,
): string {
  const slugger = new GithubSlugger();
  const headings: Heading[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = slugger.slug(text);
        const title = this.parser.parseInline(tokens, this.parser.textRenderer);
        headings.push({ id, depth, title });
        const content = new Html(this.parser.parseInline(tokens));
        if (depth === 1) return html`<h1 id="${id}">${content}</h1>`.source;
        const anchor = html`<a class="anchor" href="#${id}" aria-label="Link to ${title}">#</a>`;
        return `<h${depth} id="${id}">${content.source}${anchor.source}</h${depth}>\n`;
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
      code({ text }) {
        return html`<div class="code">
          <pre><code>${text}</code></pre>
        </div> `.source;
      },
      table(token) {
        const row = (cells: typeof token.header) =>
          html`<tr>
            ${cells.map(({ header, align, tokens }, column) => {
              const name = header ? 'th' : 'td';
              const side = align === null ? '' : ` align="${align}"`;
              const text = this.parser.parseInline(tokens, this.parser.textRenderer);
              const isShort = column === 0 && text.length <= SHORT_NAME;
              const kind = isShort ? ' class="short"' : '';
              return new Html(
                `<${name}${side}${kind}>${this.parser.parseInline(tokens)}</${name}>`,
              );
            })}
          </tr> `;
        // Readers without a mouse can scroll what has the focus.
        return html`<div
          class="table"
          role="region"
          tabindex="0"
          aria-label="Table: ${headings.at(-1)?.title ?? path}"
        >
          <table>
            <thead>
              ${row(token.header)}
            </thead>
            <tbody>
              ${token.rows.map((cells) => row(cells))}
            </tbody>
          </table>
        </div> `.source;
      },
      image({ href, text }) {
        const size = sizes.get(posix.join(posix.dirname(path), href));
        // So that the text below has its place before the picture is there.
        const place =
          size === undefined ? html`` : html` width="${size.width}" height="${size.height}"`;
        return html`<img src="${href}" alt="${text}" ${place} />`.source;
      },
    },
  });
  const content = new Html(marked.parse(markdown, { async: false }));
  const [title = path] = headings.map((heading) => heading.title);
  const root = '../'.repeat(path.split('/').length);
  return renderPage({
    title: `${title} · Plant Store`,
    root,
    current: 'docs',
    main: html`<div class="article">
      ${sidebar(headings)}
      <main>
        <p class="part">
          <a href="${root}docs/docs/README.md">Documentation</a>${partOf(path, chapters)}
        </p>
        ${content} ${neighbours(path, chapters, root)}
      </main>
    </div>`,
    styles: ['article.css'],
    scripts: ['article.js'],
  });
}

/** The sections and, below each, its subsections. Folded on narrow screens, also without JavaScript. */
function sidebar(headings: readonly Heading[]): Html {
  const link = ({ id, title }: Heading) => html`<a href="#${id}">${title}</a>`;
  const sections = headings.filter(({ depth }) => depth === 2);
  if (sections.length === 0) return html``;
  const subsections = (section: Heading) => {
    const after = headings.slice(headings.indexOf(section) + 1);
    const next = after.findIndex(({ depth }) => depth === 2);
    return after.slice(0, next === -1 ? after.length : next).filter(({ depth }) => depth === 3);
  };
  return html`<div class="sidebar">
    <div class="sidebar-bar">
      <label class="menu"><input type="checkbox" /> On this page</label>
    </div>
    <div class="sidebar-content">
      <nav aria-label="On this page">
        <ul>
          ${sections.map((section) => {
            const parts = subsections(section);
            const list =
              parts.length === 0
                ? html``
                : html`<ul>
                    ${parts.map((part) => html`<li>${link(part)}</li> `)}
                  </ul>`;
            return html`<li>${link(section)}${list}</li> `;
          })}
        </ul>
      </nav>
    </div>
  </div>`;
}

function partOf(path: string, chapters: readonly Chapter[]): Html {
  const chapter = chapters.find((candidate) => candidate.path === path);
  return chapter === undefined ? html`` : html` / ${chapter.part}`;
}

function neighbours(path: string, chapters: readonly Chapter[], root: string): Html {
  const index = chapters.findIndex((chapter) => chapter.path === path);
  const link = (chapter: Chapter | undefined, rel: string, label: string) =>
    chapter === undefined
      ? html``
      : html`<a rel="${rel}" href="${root}docs/${chapter.path}"
          ><small>${label}</small>${chapter.title}</a
        > `;
  const previous = index === -1 ? undefined : chapters[index - 1];
  return html`<nav class="neighbours" aria-label="Pages before and after">
    ${link(previous, 'prev', 'Previous')} ${link(chapters[index + 1], 'next', 'Next')}
  </nav>`;
}
