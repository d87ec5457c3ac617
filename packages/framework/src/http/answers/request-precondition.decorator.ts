import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { preconditionOf } from './entity-tag.js';

/** The {@link Precondition} of the request, if any. */
export const RequestPrecondition = createParamDecorator((_: unknown, context: ExecutionContext) =>
  preconditionOf(context.switchToHttp().getRequest<Request>().headers),
);
