import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { allErrors } from '../errors/error-kind.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { BUILD } from '../observability/build.js';
import { LOGGER } from '../observability/logger.js';
import { openApiText, toYaml } from '../openapi/openapi.js';
import { ICON, renderPage } from './page.js';
import { signInPage } from './sign-in.js';
import { renderSwaggerUi } from './swagger-ui-page.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = join(PROJECT, 'public/docs');
/** What the docs page has if it can sign in. */
const SIGN_IN = join(PAGE, 'sign-in');
const { resolve } = createRequire(import.meta.url);
const SWAGGER_UI = dirname(resolve('swagger-ui-dist/package.json'));

const SWAGGER_UI_ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js'];

/** The types of style sheets and scripts, by extension. */
const ASSET_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
};

/** The types of documentation files, by extension. Markdown is served as HTML. */
const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/html',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** Lists the pages of the documentation in their order. */
const INDEX = 'docs/README.md';

/** A picture that is opened by itself is drawn with its own style sheet. It loads nothing. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** By name, because a checkout can have private notes beside them. */
const ROOT_FILES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];

/**
 * Serves the documentation: the only routes of the public port that need no token. They are plain Express routes,
 * because every route of a controller needs a token.
 */
export function serveDocs(app: NestExpressApplication, { http, auth }: Config): void {
  const { basePath, publicBaseUrl } = http;
  const clientId = auth.jwt?.docsClientId;
  const signIn = auth.jwt && clientId ? { ...auth.jwt, clientId } : undefined;
  const express = app.getHttpAdapter().getInstance();
  const policy = pagePolicy(publicBaseUrl);
  const pages = new Map<string, (request: Request, response: Response) => Promise<void>>();
  const serve = (path: string, type: string, load: () => Promise<string | Buffer>): void => {
    const isText = type !== 'image/png';
    const contentType = isText ? `${type}; charset=utf-8` : type;
    const prepare = once(async () => {
      const content = Buffer.from(await load());
      const plain = tagged(content);
      // It contains no secrets, so its compressed length reveals nothing (BREACH).
      return { plain, gzipped: isText ? tagged(await promisify(gzip)(content)) : undefined };
    });
    pages.set(basePath + path, async (request, response) => {
      const { plain, gzipped } = await prepare();
      const isGzipped = gzipped !== undefined && request.acceptsEncodings('gzip') === 'gzip';
      const { body, tag } = isGzipped ? gzipped : plain;
      if (gzipped !== undefined) response.vary('Accept-Encoding');
      if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
      response.setHeader(
        'Content-Security-Policy',
        type === TYPES['.svg'] ? PICTURE_POLICY : policy,
      );
      response.setHeader('Cache-Control', 'no-cache');
      response.setHeader('ETag', tag);
      response.type(contentType).send(body);
    });
  };

  const document = once(async () => openApiText(app, http));
  serve('/openapi.json', 'application/json', document);
  // RFC 9512
  serve('/openapi.yaml', 'application/yaml', async () => toYaml(await document()));
  serve('/docs', 'text/html', async () => {
    const { renderReference } = await import('./reference.js');
    return renderPage({
      title: 'Plant Store',
      root: '',
      current: 'api',
      main: renderReference({
        document: await document(),
        version: BUILD.version,
        errors: allErrors(),
        issuer: signIn?.issuer,
      }),
      styles: ['reference.css'],
      scripts: ['page.js', ...(signIn ? ['sign-in/offer.js'] : [])],
    });
  });
  serve('/docs/swagger-ui', 'text/html', () => Promise.resolve(renderSwaggerUi()));
  serve('/docs/icon.svg', 'image/svg+xml', () => Promise.resolve(ICON));
  for (const path of [
    ...readdirSync(PAGE).map((name) => join(PAGE, name)),
    ...SWAGGER_UI_ASSETS.map((name) => join(SWAGGER_UI, name)),
  ]) {
    const type = ASSET_TYPES[extname(path)];
    if (type !== undefined) serve(`/docs/${basename(path)}`, type, () => readFile(path));
  }
  if (signIn) {
    const endpoints = once(async () => {
      const { readDocument } = await import('./reference-document.js');
      return readDocument(await document()).endpoints;
    });
    const page = signInPage(signIn, endpoints, app.get<Logger>(LOGGER));
    pages.set(`${basePath}/docs/sign-in`, async (_request, response) => {
      const { text, tokenOrigin } = await page();
      response.setHeader('Content-Security-Policy', pagePolicy(publicBaseUrl, tokenOrigin));
      response
        .status(tokenOrigin === undefined ? 503 : 200)
        .type('text/html')
        .send(text);
    });
    for (const name of readdirSync(SIGN_IN)) {
      const type = ASSET_TYPES[extname(name)];
      if (type !== undefined)
        serve(`/docs/sign-in/${name}`, type, () => readFile(join(SIGN_IN, name)));
    }
    serve('/docs/sign-in/oauth4webapi.js', 'text/javascript', () =>
      readFile(resolve('oauth4webapi')),
    );
  }
  const files = projectFiles();
  const read = (path: string) => readFile(join(PROJECT, path), 'utf8');
  const surroundings = once(async () => {
    const [{ chaptersOf }, { sizesOf }] = await Promise.all([
      import('./chapters.js'),
      import('./picture-sizes.js'),
    ]);
    const [chapters, sizes] = await Promise.all([
      files.has(INDEX) ? chaptersOf(INDEX, read) : [],
      sizesOf([...files.keys()], read),
    ]);
    return { served: files, chapters: chapters.filter(({ path }) => files.has(path)), sizes };
  });
  for (const [path, type] of files) {
    serve(`/docs/${path}`, type, async () => {
      if (type !== 'text/html') return readFile(join(PROJECT, path));
      const { renderMarkdown } = await import('./markdown-page.js');
      return renderMarkdown(path, await read(path), await surroundings());
    });
  }
  const send = (request: Request, response: Response) => {
    const page = pages.get(request.path);
    if (page === undefined) throw new PlantStoreError(ERRORS.noSuchPath);
    return page(request, response);
  };
  // One route for all pages: Express compares every request with all routes that are added before the route of the request.
  for (const path of ['/openapi.json', '/openapi.yaml', '/docs{/*page}']) {
    express.get(basePath + path, send);
  }
  for (const path of new Set([basePath || '/', `${basePath}/`, `${basePath}/docs/`])) {
    express.get(path, (_request: Request, response: Response) => {
      response.redirect(`${basePath}/docs`);
    });
  }
}

/** The documentation of the project: paths relative to its folder, with the media types for the responses. */
function projectFiles(): ReadonlyMap<string, string> {
  const folder = join(PROJECT, 'docs');
  const docs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  // As text, so that browsers show it.
  const files = new Map([['LICENSE', 'text/plain']]);
  for (const path of [
    ...ROOT_FILES.filter((name) => existsSync(join(PROJECT, name))),
    ...docs.map((name) => `docs/${name.replaceAll('\\', '/')}`),
  ]) {
    const type = TYPES[extname(path)];
    // Other characters would have to be encoded in the address.
    if (type !== undefined && /^[\w./-]+$/.test(path)) files.set(path, type);
  }
  return files;
}

/** Keeps the first result. After a failure, the next call tries again. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

/** The ETag is a hash of the content: modification times can differ between replicas. */
function tagged(body: Buffer) {
  return { body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

/** Allows files of this service and the images in the style sheet, in addition to the policy of the API. */
function pagePolicy(publicBaseUrl: string | undefined, tokenOrigin?: string): string {
  const addresses = [
    "'self'",
    ...(publicBaseUrl ? [new URL(publicBaseUrl).origin] : []),
    ...(tokenOrigin ? [tokenOrigin] : []),
  ].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${addresses}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
