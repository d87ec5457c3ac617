import type { Logger } from 'pino';
import { discover, endpointOf } from '../auth/discovery.js';
import type { Provider } from '../auth/discovery.js';
import { ISSUER_TIMES } from '../auth/issuer-keys.js';
import { describeError } from '../observability/describe-error.js';
import { RepeatedErrors } from '../observability/repeated-errors.js';

export interface SignInPage {
  readonly text: string;
  /** Where the page gets the token; `undefined` if nobody can sign in. */
  readonly tokenOrigin: string | undefined;
}

/** @param render called without a provider if nobody can sign in */
export function signInPage(
  issuer: string,
  render: (provider?: Provider) => string,
  logger: Logger,
): () => Promise<SignInPage> {
  const repeatedErrors = new RepeatedErrors();
  const provider = providerOf(issuer);
  return async () => {
    try {
      const known = await provider();
      return { text: render(known), tokenOrigin: endpointOf(known, 'token_endpoint').origin };
    } catch (error) {
      const repeated = repeatedErrors.note(error, 'sign-in');
      if (repeated !== undefined) {
        const reason = describeError(error);
        logger.warn({ reason, ...(repeated > 0 && { repeated }) }, 'nobody can sign in');
      }
      return { text: render(), tokenOrigin: undefined };
    }
  };
}

/** Fetched as rarely as the keys of the issuer, because anybody can open the page. */
function providerOf(issuer: string): () => Promise<Provider> {
  let fetched: Promise<Provider> | undefined;
  let expires = -Infinity;
  const fetchProvider = async () => {
    const provider = await discover(issuer, AbortSignal.timeout(ISSUER_TIMES.timeout));
    // The browser needs both.
    endpointOf(provider, 'authorization_endpoint');
    endpointOf(provider, 'token_endpoint');
    return provider;
  };
  return () => {
    if (fetched !== undefined && performance.now() < expires) return fetched;
    expires = Infinity;
    fetched = fetchProvider();
    const keep = (milliseconds: number) => () => void (expires = performance.now() + milliseconds);
    fetched.then(keep(ISSUER_TIMES.refresh), keep(ISSUER_TIMES.afterError));
    return fetched;
  };
}
