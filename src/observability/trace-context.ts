import type { IncomingMessage } from 'node:http';

/** A place in a trace. */
interface SpanIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
}

declare global {
  namespace Express {
    interface Request {
      /** The request itself as a part of a trace, where traces are made. */
      span?: SpanIds;
    }
  }
}

interface CallerTrace extends SpanIds {
  /** Whether the caller has the trace recorded. */
  readonly sampled: boolean;
}

/** Version, trace, parent and flags (W3C Trace Context, section 3.2); what follows belongs to versions to come. */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Where the caller is in its trace; `undefined` when it does not say so, or not as it must. */
export function callerTrace({ headers }: IncomingMessage): CallerTrace | undefined {
  const field = headers['traceparent'];
  if (field === undefined) return undefined;
  // Several fields are one with commas by now, which is none that is valid.
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(String(field)) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
