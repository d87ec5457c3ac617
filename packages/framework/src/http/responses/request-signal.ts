import { setMaxListeners } from 'node:events';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { breakOff } from './break-off.js';

/** Between two checks of the token of a request, in milliseconds. */
export const CHECK = 1_000;

/** How long the rest of a response may take after the token has ended, in milliseconds. */
export const REST = 10_000;

/**
 * An `AbortSignal` for work that can outlast its client or the token of the request. It aborts when the response or its
 * connection closes. When the token is no longer valid, or cannot be verified, it aborts with the error of the response as its
 * reason, and reading the body fails. On a `@Public()` route, no token is checked.
 *
 * @example export(@RequestSignal() signal: AbortSignal) {}
 */
export const RequestSignal = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  const request = http.getRequest<Request>();
  const response = http.getResponse<Response>();
  const controller = new AbortController();
  const { signal } = controller;
  // An import listens once for each line in work.
  setMaxListeners(0, signal);
  if (response.closed) {
    controller.abort();
    return signal;
  }
  const checkAgain = (): void => void (signal.aborted || check?.refresh());
  const end = (error: Error): void => {
    if (signal.aborted) return;
    controller.abort(error);
    request.bodyChunks?.destroy(error);
    // Work that waits for a client to read does not notice the signal.
    const rest = setTimeout(() => breakOff(response), REST).unref();
    response.once('close', () => clearTimeout(rest));
  };
  const { guard } = request;
  // `sleep` with a signal takes eight times as long.
  const check =
    guard &&
    setTimeout(() => void guard.requireValidToken(request).then(checkAgain, end), CHECK).unref();
  response.once('close', () => {
    clearTimeout(check);
    controller.abort();
  });
  return signal;
});
