import type { ERRORS } from './generated.js';

/** An error number of the service. Other resources and later versions of the service can have further numbers. */
export type ErrorCode = (typeof ERRORS)[keyof typeof ERRORS] | (number & Record<never, never>);

/** A request that the service, or a proxy in front of it, answered with a failure. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** The HTTP status. */
  readonly status: number;
  /** What HTTP calls the status, such as `Not Found`. Empty over HTTP/2. */
  readonly statusText: string;
  /** The error number, such as `ERRORS.noSuchPath`. `undefined` if a proxy answered instead of the service. */
  readonly code: ErrorCode | undefined;
  /** The seconds to wait before the request is sent again. */
  readonly retryAfter: number | undefined;
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined;

  /** @param body the body of the answer, parsed if it is JSON */
  constructor({ status, statusText, headers }: Response, body: unknown) {
    const failure = isFailure(body) ? body : undefined;
    super(failure?.message ?? `the answer has the status ${status} ${statusText}`.trim());
    this.code = failure?.error;
    this.statusText = statusText;
    // The first digits of the number are the status. An import can fail after its answer has begun with 200.
    this.status = failure === undefined ? status : Number(String(failure.error).slice(0, 3));
    this.retryAfter = secondsOf(headers.get('Retry-After'));
    this.requestId = headers.get('X-Request-Id') ?? undefined;
  }
}

function isFailure(body: unknown): body is { readonly error: number; readonly message: string } {
  if (typeof body !== 'object' || body === null) return false;
  return 'error' in body && typeof body.error === 'number' && 'message' in body;
}

/** Retry-After has seconds or, from some proxies, a date (RFC 9110, section 10.2.3). */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header);
  const milliseconds = Date.parse(header) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, Math.ceil(milliseconds / 1000));
}
