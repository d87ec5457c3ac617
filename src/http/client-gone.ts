import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';

/** An `AbortSignal` for work that nobody needs when the client has left. */
export const ClientGone = createParamDecorator((_: unknown, context: ExecutionContext) =>
  clientGone(context.switchToHttp().getResponse<Response>()),
);

/** Aborts when the connection or the response closes. */
export function clientGone(response: Response): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}
