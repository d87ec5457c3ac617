import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { allErrors } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import { LOGGER } from '../observability/logger.js';
import { openApiText, toYaml } from '../openapi/openapi.js';
import { html } from './html.js';
import { renderPage } from './page.js';
import { signInPage } from './sign-in.js';

const { resolve } = createRequire(import.meta.url);
/** By the name of the package, because the code of a bundle is elsewhere. */
const PAGE = join(dirname(resolve('@resource-service/framework/package.json')), 'public/docs');
/** What the docs page has if it can sign in. */
const SIGN_IN = join(PAGE, 'sign-in');
const SWAGGER_UI = dirname(resolve('swagger-ui-dist/package.json'));

/** The types of the files that are served, by extension. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/**
 * Serves the docs page and the OpenAPI document: the only routes of the public port that need no token. They are plain
 * Express routes, because every route of a controller needs a token.
 */
export function serveDocs(app: NestExpressApplication, config: Config): void {
  const { identity, http, auth } = config;
  const { basePath, publicBaseUrl } = http;
  const { title: service, build, client } = identity;
  const { homepage, version } = build;
  const clientId = auth.jwt?.docsClientId;
  const signIn = auth.jwt && clientId ? { ...auth.jwt, service, homepage, clientId } : undefined;
  const express = app.getHttpAdapter().getInstance();
  const policy = pagePolicy(publicBaseUrl);
  const pages = new Map<string, (request: Request, response: Response) => Promise<void>>();
  const serve = (path: string, type: string, load: () => Promise<string | Buffer>): void => {
    const prepare = once(async () => {
      const content = Buffer.from(await load());
      // It contains no secrets, so its compressed length reveals nothing (BREACH).
      return { plain: tagged(content), gzipped: tagged(await promisify(gzip)(content)) };
    });
    pages.set(basePath + path, async (request, response) => {
      const { plain, gzipped } = await prepare();
      const isGzipped = request.acceptsEncodings('gzip') === 'gzip';
      const { body, tag } = isGzipped ? gzipped : plain;
      response.vary('Accept-Encoding');
      if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
      response.setHeader('Content-Security-Policy', policy);
      response.setHeader('Cache-Control', 'no-cache');
      response.setHeader('ETag', tag);
      response.type(`${type}; charset=utf-8`).send(body);
    });
  };
  // What has another type, such as a page or a folder, is not served.
  const serveFiles = (path: string, folder: string, names = readdirSync(folder)): void => {
    for (const name of names) {
      const type = TYPES[extname(name)];
      if (type === undefined) continue;
      serve(`${path}/${name}`, type, () => readFile(join(folder, name)));
    }
  };

  const document = once(async () => openApiText(app, config));
  serve('/openapi.json', 'application/json', document);
  // RFC 9512
  serve('/openapi.yaml', 'application/yaml', async () => toYaml(await document()));
  serve('/docs', 'text/html', async () => {
    const { renderReference } = await import('./reference.js');
    return renderPage({
      service,
      homepage,
      title: service,
      root: '',
      main: renderReference({
        document: await document(),
        version,
        errors: allErrors(),
        issuer: signIn?.issuer,
        client,
      }),
      style: 'reference.css',
      scripts: ['page.js', ...(signIn ? ['sign-in/offer.js'] : [])],
    });
  });
  serve('/docs/swagger-ui', 'text/html', async () => {
    const page = await readFile(join(PAGE, 'swagger-ui.html'), 'utf8');
    return page.replace('SERVICE', () => html`${service}`.source);
  });
  serveFiles('/docs', PAGE);
  serveFiles('/docs', SWAGGER_UI, ['swagger-ui.css', 'swagger-ui-bundle.js']);
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
    serveFiles('/docs/sign-in', SIGN_IN);
    serve('/docs/sign-in/oauth4webapi.js', 'text/javascript', () =>
      readFile(resolve('oauth4webapi')),
    );
  }
  const send = (request: Request, response: Response) => {
    const page = pages.get(request.path);
    if (page === undefined) throw new ServiceException(ERRORS.noSuchPath);
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
