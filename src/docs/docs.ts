import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { openApiText, toYaml } from './openapi.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = join(PROJECT, 'public/docs');
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** What is served: its path below the base path, its folder, name and type. */
const FILES = [
  ['/docs', PAGE, 'index.html', 'text/html'],
  ['/docs/page.css', PAGE, 'page.css', 'text/css'],
  ['/docs/page.js', PAGE, 'page.js', 'text/javascript'],
  ['/docs/swagger-ui.css', SWAGGER_UI, 'swagger-ui.css', 'text/css'],
  ['/docs/swagger-ui-bundle.js', SWAGGER_UI, 'swagger-ui-bundle.js', 'text/javascript'],
  ['/docs/favicon-32x32.png', SWAGGER_UI, 'favicon-32x32.png', 'image/png'],
  // As text, so that browsers show it.
  ['/docs/README.md', PROJECT, 'README.md', 'text/plain'],
  ['/docs/LICENSE', PROJECT, 'LICENSE', 'text/plain'],
] as const;

/**
 * Serves the documentation: the only routes of the public port that need no token. They are plain
 * Express routes, so that nothing like them can be made of a controller by a slip.
 */
export function serveDocs(app: NestExpressApplication, { http }: Config): void {
  const { basePath, publicBaseUrl } = http;
  const express = app.getHttpAdapter().getInstance();
  const policy = pagePolicy(publicBaseUrl);
  const serve = (path: string, type: string, load: () => Promise<string | Buffer>): void => {
    let loaded: ReturnType<typeof withTag> | undefined;
    express.get(basePath + path, async (_request: Request, response: Response) => {
      loaded ??= withTag(load()).catch((error: unknown) => {
        loaded = undefined;
        throw error;
      });
      const { body, tag } = await loaded;
      response.setHeader('Content-Security-Policy', policy);
      response.setHeader('Cache-Control', 'no-cache');
      response.setHeader('ETag', tag);
      response.type(type).send(body);
    });
  };

  const document = openApiText(app, http);
  serve('/openapi.json', 'application/json', () => Promise.resolve(document));
  // RFC 9512
  serve('/openapi.yaml', 'application/yaml', () => toYaml(document));
  for (const [path, folder, name, type] of FILES) {
    serve(path, type, () => readFile(join(folder, name)));
  }
  for (const path of new Set([basePath || '/', `${basePath}/`, `${basePath}/docs/`])) {
    express.get(path, (_request: Request, response: Response) => {
      response.redirect(`${basePath}/docs`);
    });
  }
}

/** Tagged by its content: the time of a file may go back with a deployment, or differ between replicas. */
async function withTag(loading: Promise<string | Buffer>) {
  const body = await loading;
  return { body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

/** What the page needs beyond the policy of the API: files from here, and the images in its style sheet. */
function pagePolicy(publicBaseUrl: string | undefined): string {
  const connect = ["'self'", ...(publicBaseUrl ? [new URL(publicBaseUrl).origin] : [])].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
