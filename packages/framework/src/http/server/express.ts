import type { Writable } from 'node:stream';
import type { AuthGuard } from '../../auth/auth.guard.js';
import type { CredentialsErrorReason } from '../../auth/credentials.error.js';
import type { Principal, Scope } from '../../auth/principal.js';
import type { SpanIds } from '../../observability/trace-context.js';

declare global {
  namespace Express {
    interface Request {
      /** Identifies the request in the log and in the response. */
      id: string;
      /**
       * Set by the guard if the token is valid, never on a `@Public()` route. Such a client gets more time to finish a
       * rejected body.
       */
      principal?: Principal | undefined;
      /** Verifies the token again. Set together with the principal. */
      guard?: Pick<AuthGuard, 'requireValidToken'> | undefined;
      /** The route requires one of them. Set together with the principal. */
      scopes?: readonly Scope[] | undefined;
      /** Why the guard rejected the request, or why its token became invalid. */
      credentialsErrorReason?: CredentialsErrorReason | undefined;
      /** Reading the body throws the error with which this is destroyed. Set while the body is read. */
      bodyChunks?: Writable | undefined;
      /** The whole body was read at once, so that Node has not noticed its end yet. */
      bodyIsRead?: boolean | undefined;
      /** If tracing is on. */
      span?: SpanIds | undefined;
    }

    interface Response {
      /** The number of the Error in the body. */
      error?: number;
      /** An error after the first byte becomes the last line, instead of breaking the connection. */
      endsInError?: boolean;
      /** The service broke the connection, because of an error after the first byte. */
      isBroken?: boolean;
    }
  }
}
