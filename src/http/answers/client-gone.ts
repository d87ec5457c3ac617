import { setMaxListeners } from 'node:events';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';

/** An `AbortSignal` for work that nobody needs when the client has left. Aborts when the response or its connection closes. */
export const ClientGone = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const response = context.switchToHttp().getResponse<Response>();
  const controller = new AbortController();
  // An import listens for each of the lines that it works on.
  setMaxListeners(0, controller.signal);
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
});
