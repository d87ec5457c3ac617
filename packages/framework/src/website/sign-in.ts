import type { Logger } from 'pino';
import { discover, endpointOf } from '../auth/discovery.js';
import type { Provider } from '../auth/discovery.js';
import { ISSUER_TIMES } from '../auth/issuer-keys.js';
import { describeFailure } from '../observability/describe-failure.js';
import { RepeatedFailures } from '../observability/repeated-failures.js';

export interface SignInPage {
  readonly text: string;
  /** The origin that the page asks for the token; `undefined`: nobody can sign in, and the page says so. */
  readonly tokenOrigin: string | undefined;
}

/**
 * Prepares the page that signs in.
 *
 * @param render writes the page, without what the issuer says if nobody can sign in
 * @returns a function that makes the page with what the issuer says of itself now
 */
export function signInPage(
  issuer: string,
  render: (provider?: Provider) => string,
  logger: Logger,
): () => Promise<SignInPage> {
  const failures = new RepeatedFailures();
  const provider = providerOf(issuer);
  return async () => {
    try {
      const known = await provider();
      return { text: render(known), tokenOrigin: endpointOf(known, 'token_endpoint').origin };
    } catch (error) {
      const repeated = failures.note(error, 'sign-in');
      if (repeated !== undefined) {
        const reason = describeFailure(error);
        logger.warn({ reason, ...(repeated > 0 && { repeated }) }, 'nobody can sign in');
      }
      return { text: render(), tokenOrigin: undefined };
    }
  };
}

/** What the issuer says of itself. It is asked as rarely as for its keys, because anybody can open the page. */
function providerOf(issuer: string): () => Promise<Provider> {
  let answer: Promise<Provider> | undefined;
  let expires = -Infinity;
  const ask = async () => {
    const provider = await discover(issuer, AbortSignal.timeout(ISSUER_TIMES.timeout));
    // The browser is sent there.
    endpointOf(provider, 'authorization_endpoint');
    endpointOf(provider, 'token_endpoint');
    return provider;
  };
  return () => {
    if (answer !== undefined && performance.now() < expires) return answer;
    expires = Infinity;
    answer = ask();
    const keep = (milliseconds: number) => () => void (expires = performance.now() + milliseconds);
    answer.then(keep(ISSUER_TIMES.refresh), keep(ISSUER_TIMES.afterFailure));
    return answer;
  };
}
