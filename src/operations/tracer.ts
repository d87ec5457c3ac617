import type { Span } from '@opentelemetry/api';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';

/** Follows requests through the service. There is one only after the preload `tracing.ts`. */
export interface Tracer {
  /** Handles a request as a part of its trace. */
  request(request: Request, response: Response, handle: () => void): void;
  /** The requests that the running code serves. */
  served(): readonly Span[];
  /** Runs code that serves these requests, and not those that happened to start it. */
  serving<T>(requests: readonly Span[], work: () => Promise<T>): Promise<T>;
  /** Runs a statement, or a transaction where there is no text, for the requests that are served. */
  statement<T>(text: string | undefined, run: () => Promise<T>): Promise<T>;
  /** Sends what is left, within a bound. */
  stop(): Promise<void>;
}

export type TracerFactory = (log: Logger) => Promise<Tracer | undefined>;

let factory: TracerFactory | undefined;

export let tracer: Tracer | undefined;

/** For a preload: says how to get a tracer. */
export function provideTracer(create: TracerFactory): void {
  factory = create;
}

export async function startTracing(log: Logger): Promise<void> {
  tracer = await factory?.(log);
}

export async function stopTracing(): Promise<void> {
  await tracer?.stop();
}
