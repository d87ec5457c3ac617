import type { Principal } from '../../auth/principal.js';
import type { CredentialsFailure } from '../../auth/credentials.error.js';

declare global {
  namespace Express {
    interface Request {
      /** Identifies the request in the log and in the answer. */
      id: string;
      /**
       * Set by the guard if the token is valid. Such a client gets more time to read the refusal of a long body. Absent on a
       * `@Public()` route, whatever token was sent.
       */
      principal?: Principal;
      /** Fails when the token of the request is no longer valid. Set by the guard together with the principal. */
      requireValidToken?: () => Promise<void>;
      /** Why the guard refused the request, or why its token was no longer valid before its end. */
      credentialsFailure?: CredentialsFailure;
      /** Ends the reading of the body with a failure, which the handler answers. Set while the body is read. */
      failBody?: ((failure: Error) => void) | undefined;
      /** Set when the whole body was read at once. Node has not noticed its end by then. */
      bodyIsRead?: boolean;
    }

    interface Response {
      /** The number of the Error in the body. */
      error?: number;
      /** If the answer fails after its beginning, its last line is an Error. */
      endsInError?: boolean;
      /** The service broke the connection, because the answer failed after its beginning. */
      isBroken?: boolean;
    }
  }
}
