/* The page of the redirect URI: it leads to the issuer, and takes the response of the issuer. */

import { keepToken, problemOf } from '../kept-token.js';
import { inTab } from '../storage.js';
import * as oauth from './oauth4webapi.js';

/** What has to be known when the issuer responds, in this tab only. */
const KEY = 'sign-in';

/** The issuer leads to a page that is loaded anew. */
const NOTHING_KEPT =
  'This browser keeps no data of this site, and without it nobody can sign in. Permit it, or enter a token in the docs page.';

/** For the response of the token endpoint, in milliseconds. */
const TIMEOUT = 10_000;

const page = document.querySelector('#main');
const { provider, clientId, scope, audience, resource, trial } = JSON.parse(page.dataset.settings);
const client = { client_id: clientId };
const address = new URL(location.href);
const redirectUri = address.origin + address.pathname;
const { host } = new URL(provider.issuer);

/** Something that the reader has to know. Anything else that is thrown is a mistake of this program. */
class Problem extends Error {}

const isResponse = ['code', 'error', 'state'].some((name) => address.searchParams.has(name));
try {
  if (isResponse) await finish();
  else await begin();
} catch (error) {
  page.querySelector('.progress').hidden = true;
  page.querySelector('.problem').textContent =
    error instanceof Problem ? error.message : `The sign-in failed: ${error.message}.`;
  page.querySelector('.outcome').hidden = false;
  const [again, back] = page.querySelectorAll('.ways a');
  // The place in the docs page is in the hash. A link that differs in it alone would load nothing.
  again.addEventListener('click', (event) => {
    event.preventDefault();
    location.reload();
  });
  back.hash = location.hash;
}

async function begin() {
  if (!isSecureContext) throw new Problem('Signing in needs https, or http on localhost.');
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const nonce = oauth.generateRandomNonce();
  const kept = { verifier, state, nonce, place: location.hash };
  if (!inTab.write(KEY, kept)) throw new Problem(NOTHING_KEPT);
  const target = new URL(provider.authorization_endpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    audience,
    ...(resource && { resource }),
  };
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  // Instead of this page, so that the way back leads to the docs page.
  location.replace(target);
}

async function finish() {
  const kept = inTab.read(KEY) ?? null;
  inTab.remove(KEY);
  // The code is of no use to anybody else, but need not be in the history.
  history.replaceState(null, '', `${redirectUri}${kept?.place ?? ''}`);
  const parameters = responseOf(kept);
  const token = await tokenOf(parameters, kept);
  const problem = await problemOf(token, new URL(`..${trial}`, redirectUri));
  if (problem) {
    throw new Problem(`${host} has signed you in, but its token does not work here. ${problem}`);
  }
  if (!keepToken(token)) throw new Problem(NOTHING_KEPT);
  location.replace(`../docs${kept.place}`);
}

/** The response of the issuer, if it belongs to what this tab has begun. */
function responseOf(kept) {
  const ignored = 'This response belongs to no sign-in of this tab, so it was ignored.';
  if (kept === null) throw new Problem(ignored);
  try {
    return oauth.validateAuthResponse(provider, client, address, kept.state);
  } catch (error) {
    if (!(error instanceof oauth.AuthorizationResponseError)) throw new Problem(ignored);
    if (error.error === 'access_denied') {
      throw new Problem(`The sign-in was canceled, or ${host} denied it.`);
    }
    throw new Problem(`${host} rejected the sign-in: ${descriptionOf(error)}.`);
  }
}

async function tokenOf(parameters, { verifier, nonce }) {
  try {
    const response = await oauth.authorizationCodeGrantRequest(
      provider,
      client,
      oauth.None(),
      parameters,
      redirectUri,
      verifier,
      {
        additionalParameters: resource ? { resource } : {},
        signal: AbortSignal.timeout(TIMEOUT),
        // The service permits it on loopback only.
        [oauth.allowInsecureRequests]: true,
      },
    );
    const result = await oauth.processAuthorizationCodeResponse(provider, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    return result.access_token;
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError) {
      throw new Problem(`${host} issued no token: ${descriptionOf(error)}.`);
    }
    if (error instanceof TypeError || error.name === 'TimeoutError') {
      throw new Problem(
        `${host} could not be asked for the token. It is out of reach, or does not permit requests of ${address.origin} (CORS).`,
      );
    }
    throw new Problem(`The response of ${host} is not valid: ${error.message}.`);
  }
}

function descriptionOf({ error, error_description: description }) {
  return description ? `${error} (${description.replace(/\.$/, '')})` : error;
}
