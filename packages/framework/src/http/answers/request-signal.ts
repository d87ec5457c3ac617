import { setMaxListeners } from 'node:events';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { breakOff } from './break-off.js';

/** Between two looks whether the token of a request is still valid, in milliseconds. */
export const CHECK = 1_000;

/** The rest of an answer may take this long when the token is no longer valid, in milliseconds. */
export const REST = 10_000;

/**
 * An `AbortSignal` for work that can outlast its client or the token of the request. It aborts when the response or its
 * connection closes. When the token is no longer valid, or cannot be verified, it aborts with the failure that answers the
 * request as its reason, and the reading of the body fails. On a `@Public()` route, no token is looked at.
 */
export const RequestSignal = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  const request = http.getRequest<Request>();
  const response = http.getResponse<Response>();
  const controller = new AbortController();
  const { signal } = controller;
  // An import listens for each of the lines that it works on.
  setMaxListeners(0, signal);
  if (response.closed) {
    controller.abort();
    return signal;
  }
  const goOn = (): void => void (signal.aborted || check?.refresh());
  const end = (failure: Error): void => {
    if (signal.aborted) return;
    controller.abort(failure);
    request.failBody?.(failure);
    // Work that waits for a client to read does not notice the signal.
    const rest = setTimeout(() => breakOff(response), REST).unref();
    response.once('close', () => clearTimeout(rest));
  };
  // A public route has no token that could become invalid.
  const { requireValidToken } = request;
  // A `sleep` with a signal would take eight times as long, thousands of times.
  const check =
    requireValidToken && setTimeout(() => void requireValidToken().then(goOn, end), CHECK).unref();
  response.once('close', () => {
    clearTimeout(check);
    controller.abort();
  });
  return signal;
});
