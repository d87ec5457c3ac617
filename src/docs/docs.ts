import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { openApiText, toYaml } from './openapi.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = fileURLToPath(new URL('../../public/docs/', import.meta.url));
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** What lies below the docs page: where it is taken from, and its type when the name does not tell. */
const FILES: Readonly<Record<string, { readonly root: string; readonly type?: string }>> = {
  'page.css': { root: PAGE },
  'page.js': { root: PAGE },
  'swagger-ui.css': { root: SWAGGER_UI },
  'swagger-ui-bundle.js': { root: SWAGGER_UI },
  'favicon-32x32.png': { root: SWAGGER_UI },
  // As text, so that browsers show it.
  'README.md': { root: PROJECT, type: 'text/plain' },
  LICENSE: { root: PROJECT, type: 'text/plain' },
};

/**
 * Serves the documentation: the only routes of the public port that need no token. They are plain
 * Express routes, so that nothing like them can be made of a controller by a slip.
 */
export function serveDocs(app: NestExpressApplication, { http }: Config): void {
  const { basePath, publicBaseUrl } = http;
  const text = openApiText(app, http);
  const express = app.getHttpAdapter().getInstance();

  express.get(`${basePath}/openapi.json`, (_request: Request, response: Response) => {
    response.type('application/json').send(text);
  });
  let yaml: Promise<string> | undefined;
  express.get(`${basePath}/openapi.yaml`, async (_request: Request, response: Response) => {
    yaml ??= toYaml(text);
    // RFC 9512
    response.type('application/yaml').send(await yaml);
  });

  for (const path of new Set([basePath || '/', `${basePath}/`, `${basePath}/docs/`])) {
    express.get(path, (_request: Request, response: Response) => {
      response.redirect(`${basePath}/docs`);
    });
  }
  app.use(`${basePath}/docs`, docsPolicy(publicBaseUrl));
  express.get(`${basePath}/docs`, (_request: Request, response: Response) => {
    response.sendFile('index.html', { root: PAGE });
  });
  for (const [name, { root, type }] of Object.entries(FILES)) {
    express.get(`${basePath}/docs/${name}`, (_request: Request, response: Response) => {
      if (type !== undefined) response.type(type);
      response.sendFile(name, { root });
    });
  }
}

/** What the page needs beyond the policy of the API: files from here, and the images in its style sheet. */
function docsPolicy(publicBaseUrl: URL | undefined) {
  const connect = ["'self'", ...(publicBaseUrl ? [publicBaseUrl.origin] : [])].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (request: Request, response: Response, next: NextFunction): void => {
    // The files are sent whole or not at all: a condition that fails would be an error without a number.
    for (const name of ['range', 'if-match', 'if-unmodified-since']) delete request.headers[name];
    response.setHeader('Content-Security-Policy', policy);
    // Its files are large and have entity tags.
    response.setHeader('Cache-Control', 'no-cache');
    next();
  };
}
