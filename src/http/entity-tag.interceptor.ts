import { createParamDecorator, Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { entityTagOf, isNotModified, preconditionOf } from './entity-tag.js';
import { stringifyExactJson } from './exact-json.js';
import { WrittenJson } from './send-json.js';

/** The {@link Precondition} of the request, or `undefined`. */
export const RequestPrecondition = createParamDecorator((_: unknown, context: ExecutionContext) =>
  preconditionOf(context.switchToHttp().getRequest<Request>().headers),
);

/** Sends the entity tag of what a handler returns, and answers 304 to a client that already has it. */
@Injectable()
export class EntityTagInterceptor implements NestInterceptor<object, WrittenJson | undefined> {
  intercept(
    context: ExecutionContext,
    next: CallHandler<object>,
  ): Observable<WrittenJson | undefined> {
    const http = context.switchToHttp();
    const { method, headers } = http.getRequest<Request>();
    const isSafe = method === 'GET' || method === 'HEAD';
    return next.handle().pipe(
      map((representation) => {
        const text = stringifyExactJson(representation);
        const tag = entityTagOf(text);
        if (!isSafe || !isNotModified(headers, tag)) return new WrittenJson(text, ['ETag', tag]);
        http.getResponse<Response>().status(304).setHeader('ETag', tag);
        return undefined;
      }),
    );
  }
}
