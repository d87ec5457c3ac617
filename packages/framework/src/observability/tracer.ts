import type { Span } from '@opentelemetry/api';
import type { Request, Response } from 'express';

export const TRACER = Symbol('TRACER');

export interface Tracer {
  request(request: Request, response: Response, handle: () => void): void;
  /** The spans of the requests that the running code serves. */
  served(): readonly Span[];
  /** Runs code for these requests, instead of the request that started it. */
  serving<T>(requests: readonly Span[], work: () => Promise<T>): Promise<T>;
  /** Runs a statement in a span of each request that it serves. */
  statement<T>(text: string, run: () => Promise<T>): Promise<T>;
  /** Flushes the remaining spans, with a timeout. */
  stop(): Promise<void>;
}

/** The first word of a statement, such as INSERT, or the first of INSERT, UPDATE and DELETE in a WITH. */
export function operationOf(text: string): string {
  const [changing] = text.startsWith('WITH') ? (CHANGING.exec(text) ?? []) : [];
  return changing ?? /^\S*/.exec(text)![0];
}

const CHANGING = /\b(?:INSERT|UPDATE|DELETE)\b/;

const NO_SPANS: readonly Span[] = [];

export const NO_TRACER: Tracer = {
  request: (_request, _response, handle) => handle(),
  served: () => NO_SPANS,
  serving: (_requests, work) => work(),
  statement: (_text, run) => run(),
  stop: () => Promise.resolve(),
};
