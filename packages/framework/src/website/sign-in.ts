import type { Logger } from 'pino';
import { discover, endpointOf } from '../auth/discovery.js';
import type { Provider } from '../auth/discovery.js';
import { ISSUER_TIMES } from '../auth/issuer-keys.js';
import { describeFailure } from '../observability/describe-failure.js';
import { RepeatedFailures } from '../observability/repeated-failures.js';
import { html } from './html.js';
import type { Html } from './html.js';
import { renderPage } from './page.js';
import type { Endpoint } from './reference-document.js';

/** How the docs page signs in. */
export interface SignIn {
  /** The service, for people. */
  readonly service: string;
  /** The address of the project's documents, if it has one. */
  readonly homepage: string | undefined;
  /** Exactly as the issuer writes it. */
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
}

export interface SignInPage {
  readonly text: string;
  /** The origin that the page asks for the token; `undefined`: nobody can sign in, and the page says so. */
  readonly tokenOrigin: string | undefined;
}

/** What the script needs of the discovery document. */
const MEMBERS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'id_token_signing_alg_values_supported',
  'authorization_response_iss_parameter_supported',
] as const;

/**
 * Prepares the page of the redirect URI. It leads to the issuer, which leads back to it, and asks the issuer for the token
 * (OpenID Connect Core 1.0, section 3.1, with PKCE, RFC 7636).
 *
 * @param endpoints the operations of the service, which name the scopes
 * @returns a function that makes the page with what the issuer says of itself now
 */
export function signInPage(
  signIn: SignIn,
  endpoints: () => Promise<readonly Endpoint[]>,
  logger: Logger,
): () => Promise<SignInPage> {
  const { issuer, audience, clientId } = signIn;
  const failures = new RepeatedFailures();
  const provider = providerOf(issuer);
  return async () => {
    const operations = await endpoints();
    const { scopesOf, trialOf } = await import('./reference-document.js');
    try {
      const known = await provider();
      const settings = {
        provider: Object.fromEntries(MEMBERS.map((name) => [name, known[name]])),
        clientId,
        scope: ['openid', ...scopesOf(operations)].join(' '),
        audience,
        resource: resourceOf(audience),
        trial: trialOf(operations),
      };
      return {
        text: page(signIn, leading(issuer, JSON.stringify(settings)), ['sign-in/sign-in.js']),
        tokenOrigin: endpointOf(known, 'token_endpoint').origin,
      };
    } catch (error) {
      const repeated = failures.note(error, 'sign-in');
      if (repeated !== undefined) {
        const reason = describeFailure(error);
        logger.warn({ reason, ...(repeated > 0 && { repeated }) }, 'nobody can sign in');
      }
      return { text: page(signIn, unavailable(issuer)), tokenOrigin: undefined };
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

/** The audience as a resource indicator, if it can be one (RFC 8707, section 2). */
function resourceOf(audience: string): string | undefined {
  return URL.canParse(audience) && !audience.includes('#') ? audience : undefined;
}

function page({ service, homepage }: SignIn, main: Html, scripts: readonly string[] = []): string {
  const title = `Sign in · ${service}`;
  const style = 'sign-in/sign-in.css';
  return renderPage({ service, homepage, title, root: '../', main, style, scripts });
}

function leading(issuer: string, settings: string): Html {
  return html`<main class="sign-in" id="sign-in" data-settings="${settings}">
    <h1>Sign in</h1>
    <p class="progress" role="status">Signing in at ${new URL(issuer).host} …</p>
    <noscript><p>Signing in needs JavaScript.</p></noscript>
    <div class="outcome" hidden>
      <p class="problem" role="alert"></p>
      ${ways()}
    </div>
  </main>`;
}

function unavailable(issuer: string): Html {
  return html`<main class="sign-in">
    <h1>Sign in</h1>
    <p class="problem" role="alert">
      ${new URL(issuer).host} gave the service no valid answer, so nobody can sign in at the moment.
      The log of the service has the reason.
    </p>
    ${ways()}
  </main>`;
}

function ways(): Html {
  return html`<p class="ways">
    <a class="primary" href="sign-in">Try again</a> <a href="../docs">Back to the docs page</a>
  </p>`;
}
