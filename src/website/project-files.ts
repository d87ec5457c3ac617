import { existsSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The types of documentation files, by extension. Markdown is served as HTML. */
const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/html',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** By name, because a checkout can have private notes beside them. */
const ROOT_FILES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];

/** The documentation of the project: paths relative to its folder, with the media types for the responses. */
export function projectFiles(project: string): ReadonlyMap<string, string> {
  const folder = join(project, 'docs');
  const docs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  // As text, so that browsers show it.
  const files = new Map([['LICENSE', 'text/plain']]);
  for (const path of [
    ...ROOT_FILES.filter((name) => existsSync(join(project, name))),
    ...docs.map((name) => `docs/${name.replaceAll('\\', '/')}`),
  ]) {
    const type = TYPES[extname(path)];
    // Other characters have a meaning in a route of Express.
    if (type !== undefined && /^[\w./-]+$/.test(path)) files.set(path, type);
  }
  return files;
}
