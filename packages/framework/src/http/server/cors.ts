/** What pages of `CORS_ORIGINS` may send and read, in addition to what the Fetch standard allows every page. */
const CORS = {
  allowedHeaders: [
    'Authorization',
    'Content-Type',
    'If-Match',
    'If-None-Match',
    'Last-Event-ID',
    'X-Request-Id',
    // Sent by pages with tracing (W3C Trace Context, W3C Baggage).
    'traceparent',
    'tracestate',
    'baggage',
  ],
  exposedHeaders: [
    'Accept',
    'Accept-Encoding',
    'Accept-Patch',
    'Accept-Post',
    'Allow',
    'ETag',
    'Link',
    'RateLimit',
    'RateLimit-Policy',
    'Retry-After',
    'WWW-Authenticate',
    'X-Request-Id',
    'X-Total-Count',
    'X-Total-Count-Exact',
  ],
  maxAge: 600,
};

/** @param isIdempotent whether requests can have an `Idempotency-Key` */
export function corsOptions(isIdempotent: boolean): typeof CORS {
  if (!isIdempotent) return CORS;
  return {
    ...CORS,
    allowedHeaders: [...CORS.allowedHeaders, 'Idempotency-Key'],
    exposedHeaders: [...CORS.exposedHeaders, 'Location'],
  };
}
