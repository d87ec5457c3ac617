import { defineErrors, SERVICE_RANGE } from './error-kind.js';

function error(number: number, message: string, remedy: string) {
  return { number, message, remedy };
}

/**
 * The errors that any operation can have, and the errors of the parts of resources.
 *
 * @example throw new ServiceException(ERRORS.parameterNotValid, 'until must be after from');
 */
export const ERRORS = defineErrors(SERVICE_RANGE, {
  badRequest: error(
    40000,
    'the request is malformed',
    'Fix the request. The message says what is wrong with it',
  ),
  malformedJson: error(
    40001,
    'the body is not valid JSON',
    'Fix the body. The message names the position of the mistake',
  ),
  bodyMissing: error(40002, 'the request body is missing', 'Send a body'),
  bodyNotValid: error(
    40003,
    'the body does not fit its schema',
    'Fix the fields that the message names',
  ),
  parameterNotValid: error(
    40004,
    'a parameter is not valid',
    'Fix the parameter that the message names',
  ),
  searchTooSlow: error(
    40005,
    'the search takes too long',
    'Search for a longer or rarer text, use another filter as well, or sort by id',
  ),
  positionUnknown: error(
    40006,
    'there is no such position among the changes',
    'Use a position of this store. After it was restored from a backup, start again from an export',
  ),
  noCredentials: error(
    40100,
    'the request needs a bearer token in its Authorization header',
    'Send `Authorization: Bearer <token>`',
  ),
  tokenNotValid: error(
    40101,
    'the bearer token is not valid',
    'Check the token, and for a JWT its issuer and audience',
  ),
  tokenExpired: error(40102, 'the bearer token has expired', 'Get a new token'),
  scopeMissing: error(
    40300,
    'the token lacks the scope of the operation',
    'Use a token with the scope that the message names',
  ),
  noSuchPath: error(
    40400,
    'the path does not exist',
    'Check the path: it is case-sensitive and has no trailing slash',
  ),
  methodNotAllowed: error(
    40500,
    'the method is not allowed for this path',
    'Use a method that the `Allow` header field lists',
  ),
  requestTimeout: error(
    40800,
    'the request timed out before it was complete',
    'Send the request again, without pauses',
  ),
  changesPruned: error(
    41000,
    'changes after the position are no longer kept',
    'Start again: get the latest position, then the export, then the changes after the position',
  ),
  preconditionFailed: error(
    41200,
    'a precondition of the request does not hold',
    'To resolve the conflict, read it again, and decide whether the change still makes sense. If the message speaks of a proxy, exclude the service from its compression',
  ),
  bodyTooLarge: error(41300, 'the body is too large', 'Send less than `BODY_LIMIT`'),
  unsupportedMediaType: error(
    41500,
    'the operation does not accept the media type or the encoding of the body',
    'Send a media type that the response lists (`Accept-Post`, `Accept-Patch` or `Accept`), in UTF-8 and uncompressed',
  ),
  expectationFailed: error(
    41700,
    'the only supported expectation is 100-continue',
    'Send no `Expect` header field other than `100-continue`',
  ),
  rateLimited: error(
    42900,
    'too many requests in a minute',
    'Wait for the seconds in `Retry-After`. `RateLimit` says how many requests are left',
  ),
  tooManySearches: error(
    42901,
    'too many searches are running',
    'Retry when other searches are done',
  ),
  tooManyExports: error(42902, 'too many exports are open', 'Retry when other exports are done'),
  tooManyImports: error(42903, 'too many imports are running', 'Retry when other imports are done'),
  tooManyUnanswered: error(
    42904,
    'too many requests of this connection are not answered yet',
    'Read responses before you send more requests on the connection',
  ),
  tooManyFollowers: error(
    42905,
    'too many clients follow the changes',
    'Retry when other clients have left',
  ),
  headersTooLarge: error(
    43100,
    'the request header fields are too large',
    'Send fewer or shorter header fields',
  ),
  internal: error(
    50000,
    'the service failed to handle the request',
    'Report it: the log of the service has the error under the request id',
  ),
  databaseUnavailable: error(50300, 'the database is unavailable', 'Retry'),
  overloaded: error(50301, 'too many requests are waiting for the database', 'Retry, with backoff'),
  shuttingDown: error(50302, 'the service is shutting down', 'Retry: another replica responds'),
  tokenIssuerUnavailable: error(
    50303,
    'the token issuer is unavailable, so the token cannot be verified',
    'Retry',
  ),
  poolExhausted: error(50304, 'all connections to the database are in use', 'Retry, with backoff'),
  databaseTooSlow: error(
    50305,
    'the database takes too long',
    'Retry, with backoff. For a search, use a longer or rarer text, or another filter as well',
  ),
  tooManyLists: error(50306, 'too many lists are running', 'Retry, with backoff'),
  tooManyChanges: error(50307, 'too many changes are running', 'Retry, with backoff'),
  tooManyBodies: error(50308, 'too many large bodies are being received', 'Retry, with backoff'),
  tooManyAnswers: error(
    50309,
    'too many large answers are being sent',
    'Read responses faster, or retry with backoff',
  ),
  rowLocked: error(50310, 'another transaction holds the row or the table', 'Retry'),
  transactionConflict: error(50311, 'concurrent transactions are in conflict', 'Retry'),
});
