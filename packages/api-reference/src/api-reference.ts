import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { html } from './html.js';
import type { ReferenceOptions } from './options.js';
import { renderPage } from './page.js';
import { readDocument } from './reference/document.js';
import { renderReference } from './reference/reference.js';
import { toYaml } from './yaml.js';

export interface ReferenceFile {
  /** Its media type, such as `text/css`. Text is in UTF-8. */
  readonly type: string;
  /** Renders or reads it, each time anew. */
  readonly content: () => Promise<string | Buffer>;
}

const { resolve } = createRequire(import.meta.url);
/** By the name of the package, because the code of a bundle is elsewhere. */
const PUBLIC = join(dirname(resolve('@resource-service/api-reference/package.json')), 'public');
const SWAGGER_UI = dirname(resolve('swagger-ui-dist/package.json'));

/** The types of the files that are copied, by extension. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/**
 * Makes the docs page of an API: a reference with code samples and forms that send requests, and Swagger UI.
 *
 * @param text an OpenAPI 3.1 document in JSON, of which no digit is lost
 * @returns the files by their paths below the address of the API. The page is `docs`; requests go to where it was loaded from
 */
export function apiReference(
  text: string,
  options: ReferenceOptions = {},
): ReadonlyMap<string, ReferenceFile> {
  const { homepage, issuer, extension = '' } = options;
  const document = readDocument(text);
  const { info } = document;
  const page = async () =>
    renderPage({
      info,
      homepage,
      title: info.title,
      root: '',
      extension,
      main: renderReference(document, options),
      style: 'reference.css',
      scripts: ['page.js', ...(issuer === undefined ? [] : ['sign-in/offer.js'])],
    });
  const swaggerUi = async () => {
    const source = await readFile(join(PUBLIC, 'swagger-ui.html'), 'utf8');
    return source
      .replace('SERVICE', () => html`${info.title}`.source)
      .replace('EXTENSION', extension);
  };
  return new Map([
    ['openapi.json', { type: 'application/json', content: async () => text }],
    // RFC 9512
    ['openapi.yaml', { type: 'application/yaml', content: () => toYaml(text) }],
    [`docs${extension}`, { type: 'text/html', content: page }],
    [`docs/swagger-ui${extension}`, { type: 'text/html', content: swaggerUi }],
    ...copies('docs', PUBLIC),
    ...copies('docs/code-samples', join(PUBLIC, 'code-samples')),
    ...copies('docs', SWAGGER_UI, ['swagger-ui.css', 'swagger-ui-bundle.js']),
    ...(issuer === undefined ? [] : signInFiles()),
  ]);
}

function signInFiles(): [path: string, ReferenceFile][] {
  const library = resolve('oauth4webapi');
  return [
    ...copies('docs/sign-in', join(PUBLIC, 'sign-in')),
    ['docs/sign-in/oauth4webapi.js', { type: 'text/javascript', content: () => readFile(library) }],
  ];
}

/** What has another type, such as a page or a folder, is left out. */
function copies(
  path: string,
  folder: string,
  names = readdirSync(folder),
): [path: string, ReferenceFile][] {
  return names.flatMap((name) => {
    const type = TYPES[extname(name)];
    if (type === undefined) return [];
    return [[`${path}/${name}`, { type, content: () => readFile(join(folder, name)) }]];
  });
}
