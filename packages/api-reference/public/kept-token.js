/* The token that this browser keeps, for all pages of this service. */

import { inBrowser } from './storage.js';

/** Swagger UI has its token there, too. */
const KEY = 'authorized';

/** The token that this browser keeps, if any. What cannot be one, another program of this origin has put there. */
export function currentToken() {
  const value = inBrowser.read(KEY)?.bearerAuth?.value;
  return typeof value === 'string' ? value : undefined;
}

/** Whether the browser keeps it. Otherwise only this page does. */
export function keepToken(value) {
  const schema = { type: 'http', scheme: 'bearer' };
  const bearerAuth = { name: 'bearerAuth', schema, value };
  return inBrowser.write(KEY, { bearerAuth });
}

export function forgetToken() {
  inBrowser.remove(KEY);
}

/** Calls back when a page in another tab changes the token. */
export function followToken(changed) {
  addEventListener('storage', ({ key }) => {
    if (key === KEY) changed();
  });
}

/** Why the service does not accept a token, by a request that changes nothing. */
export async function problemOf(token, url) {
  try {
    const response = await fetch(url, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    // It does not matter whether the row exists, or whether the token may look it up.
    if (response.ok || [400, 403, 404].includes(response.status)) return undefined;
    const { message } = await response.json();
    return response.status === 401
      ? `Wrong token: ${message}.`
      : `The service could not check the token: ${message}.`;
  } catch (error) {
    return `The token could not be sent: ${error.message}.`;
  }
}
