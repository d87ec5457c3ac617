import { existsSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The types of documentation files, by extension. Markdown is served as HTML. */
const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/html',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** The documentation of the project: paths relative to its folder, with the media types for the responses. */
export function projectFiles(project: string): ReadonlyMap<string, string> {
  const folder = join(project, 'docs');
  const docs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const paths = [
    ...readdirSync(project).filter((name) => name.endsWith('.md')),
    ...docs.map((path) => `docs/${path.replaceAll('\\', '/')}`),
  ];
  return new Map([
    ...paths.flatMap((path) => {
      const type = TYPES[extname(path)];
      return type === undefined ? [] : [[path, type] as const];
    }),
    // As text, so that browsers show it.
    ['LICENSE', 'text/plain'],
  ]);
}
