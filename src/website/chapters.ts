import { posix } from 'node:path';
import { marked } from 'marked';
import type { Token } from 'marked';

/** A page of the documentation. */
export interface Chapter {
  /** Relative to the folder of the project. */
  readonly path: string;
  readonly title: string;
  /** The heading below which the index has it. */
  readonly part: string;
}

/**
 * The pages in the order in which an index links to them: a Markdown file, such as `docs/README.md`. After a page that
 * is an index itself, such as `docs/framework/README.md`, come the pages of its folder that it links to.
 *
 * @param read the text of a file
 */
export async function chaptersOf(
  index: string,
  read: (path: string) => Promise<string>,
): Promise<readonly Chapter[]> {
  const folder = posix.dirname(index);
  const chapters = new Map<string, Chapter>();
  for (const { href, title, part } of linksOf(await read(index))) {
    const path = posix.join(folder, href);
    if (!path.endsWith('.md') || chapters.has(path)) continue;
    chapters.set(path, { path, title, part });
    const isIndex = posix.basename(path) === 'README.md' && path.startsWith(`${folder}/`);
    if (!isIndex) continue;
    for (const chapter of await chaptersOf(path, read)) {
      if (!chapter.path.startsWith(`${posix.dirname(path)}/`)) continue;
      chapters.set(chapter.path, { ...chapter, part });
    }
  }
  return [...chapters.values()];
}

interface Link {
  readonly href: string;
  readonly title: string;
  readonly part: string;
}

function linksOf(markdown: string): Link[] {
  const links: Link[] = [];
  let part = '';
  void marked.walkTokens(marked.lexer(markdown), (token: Token) => {
    if (token.type === 'heading') part = token.text as string;
    if (token.type === 'link') {
      links.push({ href: token['href'] as string, title: token['text'] as string, part });
    }
  });
  return links;
}
