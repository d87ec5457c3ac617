import { ResponseError } from './exchange.js';
import type { Exchange, Received } from './exchange.js';

export type Outcome = (
  | { readonly kind: 'delivered'; readonly status: number }
  /** The receiver wants no more messages (410). */
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'failed';
      readonly status?: number;
      /** A sentence for the owner of the webhook, without anything about this network. */
      readonly reason: string;
      /** How long the receiver wants to be left alone, in milliseconds; an hour at the longest. */
      readonly retryAfter?: number;
    }
) & {
  /** The beginning of the body of the response, if it has one. */
  readonly response?: string;
};

const HOUR = 3_600_000;

export function outcomeOf({ status, headers, body }: Received): Outcome {
  const response = body === '' ? {} : { response: body };
  if (status >= 200 && status < 300) return { kind: 'delivered', status, ...response };
  if (status === 410) return { kind: 'gone', ...response };
  const retryAfter = millisecondsOf(headers['retry-after']);
  const reason =
    status >= 300 && status < 400
      ? `The response is a redirect (${status}), and redirects are not followed.`
      : `The response has the status ${status}.`;
  const delay = retryAfter === undefined ? {} : { retryAfter };
  return { kind: 'failed', status, reason, ...delay, ...response };
}

/** Why there was no response. */
export function reasonOf(error: Error, phase: Exchange['phase']): string {
  if (error instanceof ResponseError) return error.message;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (phase === 'connection') {
    return code === 'ECONNREFUSED'
      ? 'The connection was refused.'
      : `The connection failed (${code}).`;
  }
  if (phase === 'TLS handshake') return `The TLS handshake failed (${code}).`;
  if (code === 'HPE_HEADER_OVERFLOW') return 'The header of the response is too large.';
  if (code.startsWith('HPE_')) return `The response is not valid HTTP (${code}).`;
  return 'The connection was closed before a response.';
}

/** RFC 9110, 10.2.3: seconds, or a date. */
function millisecondsOf(retryAfter = ''): number | undefined {
  const delay = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1_000
    : Date.parse(/^\w{3}, .+ GMT$/.exec(retryAfter)?.[0] ?? '') - Date.now();
  return Number.isNaN(delay) ? undefined : Math.min(Math.max(delay, 0), HOUR);
}
