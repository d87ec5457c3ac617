import { html } from './html.js';
import type { Html } from './html.js';
import { renderPage } from './page.js';
import { readDocument, scopesOf, trialOf } from './reference/document.js';

/** How the docs page signs in, with OpenID Connect. */
export interface SignIn {
  /** Exactly as the issuer writes it. */
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  /** The address of other documents, which the page links to. */
  readonly homepage?: string | undefined;
}

/** What the script needs of the discovery document. */
const PROPERTIES = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'id_token_signing_alg_values_supported',
  'authorization_response_iss_parameter_supported',
] as const;

/**
 * Prepares the page `docs/sign-in`, which is the redirect URI. It leads to the issuer, which leads back to it, and asks the
 * issuer for the token (OpenID Connect Core 1.0, section 3.1, with PKCE, RFC 7636).
 *
 * @param text the OpenAPI document, whose operations name the scopes
 * @returns a function that writes the page with what the issuer says of itself (OpenID Connect Discovery 1.0, section 3).
 * Without it, the page says that nobody can sign in
 */
export function signInPage(
  text: string,
  { issuer, audience, clientId, homepage }: SignIn,
): (provider?: Readonly<Record<string, unknown>>) => string {
  const { info, endpoints } = readDocument(text);
  const page = (main: Html, scripts: readonly string[] = []) =>
    renderPage({
      info,
      homepage,
      title: `Sign in · ${info.title}`,
      root: '../',
      main,
      style: 'sign-in/sign-in.css',
      scripts,
    });
  return (provider) => {
    if (provider === undefined) return page(unavailable(issuer));
    const settings = {
      provider: Object.fromEntries(PROPERTIES.map((name) => [name, provider[name]])),
      clientId,
      scope: ['openid', ...scopesOf(endpoints)].join(' '),
      audience,
      resource: resourceOf(audience),
      trial: trialOf(endpoints),
    };
    return page(leading(issuer, JSON.stringify(settings)), ['sign-in/sign-in.js']);
  };
}

/** The audience as a resource indicator, if it can be one (RFC 8707, section 2). */
function resourceOf(audience: string): string | undefined {
  return URL.canParse(audience) && !audience.includes('#') ? audience : undefined;
}

function leading(issuer: string, settings: string): Html {
  return html`<main class="sign-in" id="main" data-settings="${settings}">
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
  return html`<main class="sign-in" id="main">
    <h1>Sign in</h1>
    <p class="problem" role="alert">
      ${new URL(issuer).host} gave the service no valid response, so nobody can sign in at the
      moment. The log of the service has the reason.
    </p>
    ${ways()}
  </main>`;
}

function ways(): Html {
  return html`<p class="ways">
    <a class="primary" href="sign-in">Try again</a> <a href="../docs">Back to the docs page</a>
  </p>`;
}
