import type { IncomingMessage } from 'node:http';

export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

interface CallerTrace extends SpanIds {
  /** Whether the client records the trace. */
  readonly sampled: boolean;
}

/** W3C Trace Context, section 3.2. Later versions may append fields. */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

export function callerTrace({ headers }: IncomingMessage): CallerTrace | undefined {
  const field = headers['traceparent'];
  if (field === undefined) return undefined;
  // Node joins several fields with commas, which is not valid.
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(String(field)) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
