import type { Span } from '@opentelemetry/api';
import type { Request, Response } from 'express';

/** Injection token of the {@link Tracer}. */
export const TRACER = Symbol('TRACER');

/** Follows requests through the service. */
export interface Tracer {
  /** Handles a request as a part of its trace. */
  request(request: Request, response: Response, handle: () => void): void;
  /** The requests that the running code serves. */
  served(): readonly Span[];
  /** Runs code that serves these requests, and not those that happened to start it. */
  serving<T>(requests: readonly Span[], work: () => Promise<T>): Promise<T>;
  /** Runs a statement for the requests that are served. */
  statement<T>(text: string, run: () => Promise<T>): Promise<T>;
  /** Sends what is left, within a bound. */
  stop(): Promise<void>;
}

/** The first word of a statement, such as INSERT. */
export function operationOf(text: string): string {
  return /^\S*/.exec(text)![0];
}

const NO_SPANS: readonly Span[] = [];

/** Makes no traces. */
export const NO_TRACER: Tracer = {
  request: (_request, _response, handle) => handle(),
  served: () => NO_SPANS,
  serving: (_requests, work) => work(),
  statement: (_text, run) => run(),
  stop: () => Promise.resolve(),
};
