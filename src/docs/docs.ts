import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { openApiText } from './openapi.js';

/**
 * Serves the documentation: the only routes of the public port that need no token. They are plain
 * Express routes, so that nothing like them can be made of a controller by a slip.
 */
export function serveDocs(app: NestExpressApplication, { http }: Config): void {
  const { basePath, publicBaseUrl } = http;
  // The path alone comes first: requests then go to wherever the page was loaded from.
  const servers = [
    basePath || '/',
    ...(publicBaseUrl ? [publicBaseUrl.href.replace(/\/$/, '')] : []),
  ];
  const text = openApiText(app, servers);
  const express = app.getHttpAdapter().getInstance();

  express.get(`${basePath}/openapi.json`, (_request: Request, response: Response) => {
    response.type('application/json').send(text);
  });
  express.get(basePath || '/', (_request: Request, response: Response) => {
    response.redirect(`${basePath}/docs`);
  });
  app.use(`${basePath}/docs`, docsPolicy(publicBaseUrl));
  SwaggerModule.setup(
    `${basePath}/docs`,
    app,
    { openapi: '3.1.0', info: { title: '', version: '' }, paths: {} },
    {
      raw: false,
      // The page reads the text above. A document of its own would lose digits, so it gets none:
      // an empty `spec` makes Swagger UI look at the address.
      swaggerUrl: `${basePath}/openapi.json`,
      swaggerOptions: { spec: {}, persistAuthorization: true },
      customSiteTitle: 'Plant Store',
    },
  );
}

/** What Swagger UI needs beyond the policy of the API: its own files, inline styles and images. */
function docsPolicy(publicBaseUrl: URL | undefined) {
  const connect = ["'self'", ...(publicBaseUrl ? [publicBaseUrl.origin] : [])].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
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
