import { ERRORS } from './generated.js';

/** An error number of the service. Other resources and later versions of the service can have further numbers. */
export type ErrorCode = (typeof ERRORS)[keyof typeof ERRORS] | (number & Record<never, never>);

/** An error response of the service, or of a proxy in front of it. Its message also has status, number and request id. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** What the service says, without status, number and request id. */
  readonly reason: string;
  /** The HTTP status. */
  readonly status: number;
  /** What HTTP calls the status, such as `Not Found`. Empty over HTTP/2. */
  readonly statusText: string;
  /** The error number, such as `ERRORS.noSuchPath`. `undefined` if a proxy responded instead of the service. */
  readonly code: ErrorCode | undefined;
  /** The seconds to wait before the request is sent again. */
  readonly retryAfter: number | undefined;
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined;

  /**
   * @param body the body of the response, parsed if it is JSON
   * @param baseUrl the address that may be wrong
   */
  constructor({ status, statusText, headers }: Response, body: unknown, baseUrl?: string) {
    const errorBody = isErrorBody(body) ? body : undefined;
    const reason =
      errorBody?.message ?? `the response has the status ${status} ${statusText}`.trim();
    // The first digits of the number are the status. An import can fail after its response has begun with 200.
    const actual = errorBody === undefined ? status : Number(String(errorBody.error).slice(0, 3));
    const requestId = headers.get('X-Request-Id') ?? undefined;
    const facts = [
      ...(errorBody === undefined ? [] : [`status ${actual}`, `error ${errorBody.error}`]),
      ...(requestId === undefined ? [] : [`request ${requestId}`]),
    ];
    const isElsewhere =
      errorBody === undefined
        ? status < 300 || status === 404
        : errorBody.error === ERRORS.noSuchPath;
    const hint = isElsewhere && baseUrl ? `: is ${baseUrl} the address of the service?` : '';
    super(`${reason}${hint}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`);
    this.reason = reason;
    this.code = errorBody?.error;
    this.statusText = statusText;
    this.status = actual;
    this.retryAfter = secondsOf(headers.get('Retry-After'));
    this.requestId = requestId;
  }
}

function isErrorBody(body: unknown): body is { readonly error: number; readonly message: string } {
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
