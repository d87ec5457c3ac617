/** A kind of failure, as clients see it. */
export interface ErrorDefinition {
  readonly status: number;
  /** Value of the member `error`: status × 100 + n. Never reused for another failure. */
  readonly number: number;
  /** The default message, also used in the documentation. */
  readonly message: string;
  /** Header fields of every answer with this failure. */
  readonly headers?: Readonly<Record<string, string>>;
}

// The `error` attribute is sent only if the request had credentials (RFC 6750, section 3).
const CHALLENGE = 'Bearer realm="plant-store"';
const INVALID_TOKEN = `${CHALLENGE}, error="invalid_token"`;

/** Every failure that clients can see. The documentation is generated from this table. */
export const ERROR_TABLE = {
  'bad-request': { status: 400, number: 40000, message: 'the request is malformed' },
  'malformed-json': { status: 400, number: 40001, message: 'the body is not valid JSON' },
  'body-missing': { status: 400, number: 40002, message: 'the request body is missing' },
  'body-not-valid': { status: 400, number: 40003, message: 'the body does not fit its schema' },
  'parameter-not-valid': { status: 400, number: 40004, message: 'a parameter is not valid' },
  'search-too-slow': { status: 400, number: 40005, message: 'the search takes too long' },
  'id-taken': {
    status: 400,
    number: 40009,
    message: 'the id belongs to a plant with other content',
  },
  'no-credentials': {
    status: 401,
    number: 40100,
    message: 'the request needs a bearer token in its Authorization header',
    headers: { 'WWW-Authenticate': CHALLENGE },
  },
  'token-not-valid': {
    status: 401,
    number: 40101,
    message: 'the bearer token is not valid',
    headers: {
      'WWW-Authenticate': `${INVALID_TOKEN}, error_description="the token is not valid"`,
    },
  },
  'token-expired': {
    status: 401,
    number: 40102,
    message: 'the bearer token has expired',
    headers: { 'WWW-Authenticate': `${INVALID_TOKEN}, error_description="the token has expired"` },
  },
  'no-such-path': { status: 404, number: 40400, message: 'the path does not exist' },
  'no-such-plant': { status: 404, number: 40401, message: 'there is no plant with this id' },
  'method-not-allowed': {
    status: 405,
    number: 40500,
    message: 'the method is not allowed for this path',
  },
  'request-timeout': {
    status: 408,
    number: 40800,
    message: 'the request timed out before it was complete',
  },
  'precondition-failed': {
    status: 412,
    number: 41200,
    message: 'a precondition of the request does not hold',
  },
  'body-too-large': { status: 413, number: 41300, message: 'the body is too large' },
  'unsupported-media-type': {
    status: 415,
    number: 41500,
    message: 'the body must be application/json in UTF-8, without Content-Encoding',
    headers: { 'Accept-Encoding': 'identity' },
  },
  'expectation-failed': {
    status: 417,
    number: 41700,
    message: 'the only supported expectation is 100-continue',
  },
  'too-many-searches': {
    status: 429,
    number: 42901,
    message: 'too many searches are running',
    headers: { 'Retry-After': '1' },
  },
  'too-many-exports': {
    status: 429,
    number: 42902,
    message: 'too many exports are open',
    headers: { 'Retry-After': '1' },
  },
  'too-many-imports': {
    status: 429,
    number: 42903,
    message: 'too many imports are running',
    headers: { 'Retry-After': '1' },
  },
  'too-many-unanswered': {
    status: 429,
    number: 42904,
    message: 'too many requests of this connection are not answered yet',
    headers: { 'Retry-After': '1' },
  },
  'headers-too-large': {
    status: 431,
    number: 43100,
    message: 'the request header fields are too large',
  },
  internal: { status: 500, number: 50000, message: 'the service failed to handle the request' },
  'database-unavailable': {
    status: 503,
    number: 50300,
    message: 'the database is unavailable',
    headers: { 'Retry-After': '1' },
  },
  overloaded: {
    status: 503,
    number: 50301,
    message: 'too many requests are waiting for the database',
    headers: { 'Retry-After': '1' },
  },
  'shutting-down': {
    status: 503,
    number: 50302,
    message: 'the service is shutting down',
    headers: { 'Retry-After': '1' },
  },
  'token-issuer-unavailable': {
    status: 503,
    number: 50303,
    message: 'the token issuer is unavailable, so the token cannot be verified',
    headers: { 'Retry-After': '1' },
  },
  'pool-exhausted': {
    status: 503,
    number: 50304,
    message: 'all connections to the database are in use',
    headers: { 'Retry-After': '1' },
  },
  'database-too-slow': {
    status: 503,
    number: 50305,
    message: 'the database takes too long',
    headers: { 'Retry-After': '1' },
  },
  'too-many-lists': {
    status: 503,
    number: 50306,
    message: 'too many lists are running',
    headers: { 'Retry-After': '1' },
  },
  'too-many-changes': {
    status: 503,
    number: 50307,
    message: 'too many changes are running',
    headers: { 'Retry-After': '1' },
  },
  'too-many-bodies': {
    status: 503,
    number: 50308,
    message: 'too many large bodies are being received',
    headers: { 'Retry-After': '1' },
  },
  'too-many-answers': {
    status: 503,
    number: 50309,
    message: 'too many large answers are being sent',
    headers: { 'Retry-After': '1' },
  },
  'row-locked': {
    status: 503,
    number: 50310,
    message: 'another transaction holds the row or the table',
    headers: { 'Retry-After': '1' },
  },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof ERROR_TABLE;
