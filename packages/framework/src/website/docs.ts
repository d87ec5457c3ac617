import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ReferenceFile } from '@resource-service/api-reference';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { isPublicToken } from '../config/config.js';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { allErrors } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import { LOGGER } from '../observability/logger.js';
import { openApiText } from '../openapi/openapi.js';
import { signInPage } from './sign-in.js';

const CLIENT = 'docs/client.tgz';

const TOKEN_HELP = '`npm start` prints it; with `docker compose up`, it is in the log.';

/**
 * Serves the docs page and the OpenAPI document without a token, as plain Express routes, because every route of a controller
 * needs one.
 */
export function serveDocs(app: NestExpressApplication, config: Config): void {
  const { identity, http, auth } = config;
  const { basePath, publicBaseUrl } = http;
  const { homepage, version, clientTarball } = identity.build;
  // Read now, because the next build may remove the file.
  const packed = contentOf(clientTarball);
  // Without the file, the page names no package: a stranger may have the name in the registry.
  const client = packed && {
    package: `@${identity.name}/client`,
    ...identity.client,
    tarball: CLIENT,
  };
  const clientId = auth.jwt?.docsClientId;
  const signIn = auth.jwt && clientId ? { ...auth.jwt, homepage, clientId } : undefined;
  const express = app.getHttpAdapter().getInstance();
  const policyOf = (tokenOrigin?: string) => pagePolicy(publicBaseUrl, tokenOrigin);
  const pages = once(async () => {
    // Not loaded at the start.
    const reference = await import('@resource-service/api-reference');
    const document = openApiText(app, config);
    const described = reference.apiReference(document, {
      version,
      errors: allErrors(),
      homepage,
      client,
      tokenHelp: isPublicToken(config) ? TOKEN_HELP : undefined,
      issuer: signIn?.issuer,
    });
    const files = new Map(described);
    if (packed) files.set(CLIENT, { type: 'application/gzip', content: async () => packed });
    const senders = new Map(
      [...files].map(([path, file]) => [`${basePath}/${path}`, fileSender(file, policyOf())]),
    );
    if (signIn) {
      const render = reference.signInPage(document, signIn);
      const page = signInPage(signIn.issuer, render, app.get<Logger>(LOGGER));
      senders.set(`${basePath}/docs/sign-in`, async (_request, response) => {
        const { text, tokenOrigin } = await page();
        response.setHeader('Content-Security-Policy', policyOf(tokenOrigin));
        response
          .status(tokenOrigin === undefined ? 503 : 200)
          .type('text/html')
          .send(text);
      });
    }
    return senders;
  });
  const send = async (request: Request, response: Response) => {
    const page = (await pages()).get(request.path);
    if (page === undefined) throw new ServiceException(ERRORS.noSuchPath);
    await page(request, response);
  };
  // One route for all pages, because Express compares every request with all earlier routes.
  for (const path of ['/openapi.json', '/openapi.yaml', '/docs{/*page}']) {
    express.get(basePath + path, send);
  }
  for (const path of new Set([basePath || '/', `${basePath}/`, `${basePath}/docs/`])) {
    express.get(path, (_request: Request, response: Response) => {
      response.redirect(`${basePath}/docs`);
    });
  }
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Keeps the first result, but no error. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

type Sender = (request: Request, response: Response) => Promise<void>;

function fileSender({ type, content }: ReferenceFile, policy: string): Sender {
  const prepare = once(async () => {
    const body = Buffer.from(await content());
    if (type === 'application/gzip') return { plain: tagged(body) };
    // Contains no secrets that a compressed length could reveal (BREACH).
    return { plain: tagged(body), gzipped: tagged(await promisify(gzip)(body)) };
  });
  return async (request, response) => {
    const { plain, gzipped } = await prepare();
    const isGzipped = gzipped !== undefined && request.acceptsEncodings('gzip') === 'gzip';
    const { body, tag } = isGzipped ? gzipped : plain;
    if (gzipped !== undefined) response.vary('Accept-Encoding');
    if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Cache-Control', 'no-cache');
    response.setHeader('ETag', tag);
    response.type(gzipped === undefined ? type : `${type}; charset=utf-8`).send(body);
  };
}

/** A hash, because modification times can differ between replicas. */
function tagged(body: Buffer) {
  return { body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

/** Allows files of this service and images in the style sheet, in addition to the policy of the API. */
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
