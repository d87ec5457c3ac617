import { defineErrors, SERVICE_RANGE } from './error-kind.js';

/** The errors that any operation can have, and the errors of the parts of resources. */
export const ERRORS = defineErrors(SERVICE_RANGE, {
  badRequest: {
    number: 40000,
    message: 'the request is malformed',
    remedy: 'Fix the request. The message says what is wrong with it',
  },
  malformedJson: {
    number: 40001,
    message: 'the body is not valid JSON',
    remedy: 'Fix the body. The message names the position of the mistake',
  },
  bodyMissing: { number: 40002, message: 'the request body is missing', remedy: 'Send a body' },
  bodyNotValid: {
    number: 40003,
    message: 'the body does not fit its schema',
    remedy: 'Fix the fields that the message names',
  },
  parameterNotValid: {
    number: 40004,
    message: 'a parameter is not valid',
    remedy: 'Fix the parameter that the message names',
  },
  searchTooSlow: {
    number: 40005,
    message: 'the search takes too long',
    remedy: 'Search for a longer or rarer text, use another filter as well, or sort by id',
  },
  positionUnknown: {
    number: 40006,
    message: 'there is no such position among the changes',
    remedy:
      'Use a position of this store. After it was restored from a backup, start again from an export',
  },
  noCredentials: {
    number: 40100,
    message: 'the request needs a bearer token in its Authorization header',
    remedy: 'Send `Authorization: Bearer <token>`',
  },
  tokenNotValid: {
    number: 40101,
    message: 'the bearer token is not valid',
    remedy: 'Check the token, and for a JWT its issuer and audience',
  },
  tokenExpired: {
    number: 40102,
    message: 'the bearer token has expired',
    remedy: 'Get a new token',
  },
  scopeMissing: {
    number: 40300,
    message: 'the token lacks the scope of the operation',
    remedy: 'Use a token with the scope that the message names',
  },
  noSuchPath: {
    number: 40400,
    message: 'the path does not exist',
    remedy: 'Check the path: it is case-sensitive and has no trailing slash',
  },
  methodNotAllowed: {
    number: 40500,
    message: 'the method is not allowed for this path',
    remedy: 'Use a method that the `Allow` header field lists',
  },
  requestTimeout: {
    number: 40800,
    message: 'the request timed out before it was complete',
    remedy: 'Send the request again, without pauses',
  },
  changesPruned: {
    number: 41000,
    message: 'changes after the position are no longer kept',
    remedy:
      'Start again: get the latest position, then the export, then the changes after the position',
  },
  preconditionFailed: {
    number: 41200,
    message: 'a precondition of the request does not hold',
    remedy:
      'To resolve the conflict, read it again, and decide whether the change still makes sense. If the message speaks of a proxy, exclude the service from its compression',
  },
  bodyTooLarge: {
    number: 41300,
    message: 'the body is too large',
    remedy: 'Send less than `BODY_LIMIT`',
  },
  unsupportedMediaType: {
    number: 41500,
    message: 'the operation does not accept the media type or the encoding of the body',
    remedy:
      'Send a media type that the response lists (`Accept-Post`, `Accept-Patch` or `Accept`), in UTF-8 and uncompressed',
  },
  expectationFailed: {
    number: 41700,
    message: 'the only supported expectation is 100-continue',
    remedy: 'Send no `Expect` header field other than `100-continue`',
  },
  rateLimited: {
    number: 42900,
    message: 'too many requests in a minute',
    remedy: 'Wait for the seconds in `Retry-After`. `RateLimit` says how many requests are left',
  },
  tooManySearches: {
    number: 42901,
    message: 'too many searches are running',
    remedy: 'Retry when other searches are done',
  },
  tooManyExports: {
    number: 42902,
    message: 'too many exports are open',
    remedy: 'Retry when other exports are done',
  },
  tooManyImports: {
    number: 42903,
    message: 'too many imports are running',
    remedy: 'Retry when other imports are done',
  },
  tooManyUnanswered: {
    number: 42904,
    message: 'too many requests of this connection are not answered yet',
    remedy: 'Read responses before you send more requests on the connection',
  },
  tooManyFollowers: {
    number: 42905,
    message: 'too many clients follow the changes',
    remedy: 'Retry when other clients have left',
  },
  headersTooLarge: {
    number: 43100,
    message: 'the request header fields are too large',
    remedy: 'Send fewer or shorter header fields',
  },
  internal: {
    number: 50000,
    message: 'the service failed to handle the request',
    remedy: 'Report it: the log of the service has the error under the request id',
  },
  databaseUnavailable: {
    number: 50300,
    message: 'the database is unavailable',
    remedy: 'Retry',
  },
  overloaded: {
    number: 50301,
    message: 'too many requests are waiting for the database',
    remedy: 'Retry, with backoff',
  },
  shuttingDown: {
    number: 50302,
    message: 'the service is shutting down',
    remedy: 'Retry: another replica responds',
  },
  tokenIssuerUnavailable: {
    number: 50303,
    message: 'the token issuer is unavailable, so the token cannot be verified',
    remedy: 'Retry',
  },
  poolExhausted: {
    number: 50304,
    message: 'all connections to the database are in use',
    remedy: 'Retry, with backoff',
  },
  databaseTooSlow: {
    number: 50305,
    message: 'the database takes too long',
    remedy:
      'Retry, with backoff. For a search, use a longer or rarer text, or another filter as well',
  },
  tooManyLists: {
    number: 50306,
    message: 'too many lists are running',
    remedy: 'Retry, with backoff',
  },
  tooManyChanges: {
    number: 50307,
    message: 'too many changes are running',
    remedy: 'Retry, with backoff',
  },
  tooManyBodies: {
    number: 50308,
    message: 'too many large bodies are being received',
    remedy: 'Retry, with backoff',
  },
  tooManyAnswers: {
    number: 50309,
    message: 'too many large answers are being sent',
    remedy: 'Read responses faster, or retry with backoff',
  },
  rowLocked: {
    number: 50310,
    message: 'another transaction holds the row or the table',
    remedy: 'Retry',
  },
  transactionConflict: {
    number: 50311,
    message: 'concurrent transactions are in conflict',
    remedy: 'Retry',
  },
});
