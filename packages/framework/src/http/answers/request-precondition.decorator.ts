import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { preconditionOf } from './entity-tag.js';

/** Tells the documentation which methods have the parameter. */
export const requestPrecondition = (_: unknown, context: ExecutionContext) =>
  preconditionOf(context.switchToHttp().getRequest<Request>().headers);

/** The {@link Precondition} of the request, if any. */
export const RequestPrecondition = createParamDecorator(requestPrecondition);
