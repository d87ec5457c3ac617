import type { Principal } from '../../auth/principal.js';
import type { CredentialsErrorReason } from '../../auth/credentials.error.js';

declare global {
  namespace Express {
    interface Request {
      /** Identifies the request in the log and in the response. */
      id: string;
      /**
       * Set by the guard if the token is valid, never on a `@Public()` route. Such a client gets more time to finish a
       * rejected body.
       */
      principal?: Principal;
      /** Fails when the token is no longer valid. Set together with the principal. */
      requireValidToken?: () => Promise<void>;
      /** Why the guard rejected the request, or why its token became invalid. */
      credentialsErrorReason?: CredentialsErrorReason;
      /** Makes reading the body throw. Set while the body is read. */
      failBody?: ((error: Error) => void) | undefined;
      /** The whole body was read at once, so that Node has not noticed its end yet. */
      bodyIsRead?: boolean;
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
