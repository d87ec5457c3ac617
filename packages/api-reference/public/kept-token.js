/* The token that this browser keeps, for all pages of this service. */

import { inBrowser, inTab } from './storage.js';
import { problemOfHeader, reasonOf } from './unsent.js';

/** With the name and the form that Swagger UI gives it. */
const KEY = 'authorized';

/** Whether tokens shall stay in this tab, also after a sign-in, which leaves the page. */
const CHOICE = 'tab-only';

/** The token of this tab, or of this browser, if any. What cannot be one, another program of this origin has put there. */
export function currentToken() {
  return tokenIn(inTab) ?? tokenIn(inBrowser);
}

/** The header fields of a request with the token, if there is one. */
export function authorization() {
  const token = currentToken();
  return token ? { Authorization: `Bearer ${token}` } : {};
}

function tokenIn(place) {
  const value = place.read(KEY)?.bearerAuth?.value;
  return typeof value === 'string' ? value : undefined;
}

export function keepsInTab() {
  return inTab.read(CHOICE) === true;
}

export function chooseTab(isChosen) {
  if (isChosen) inTab.write(CHOICE, true);
  else inTab.remove(CHOICE);
}

/** Whether the browser keeps it, for all tabs or for this one. Otherwise only this page does. */
export function keepToken(value) {
  const schema = { type: 'http', scheme: 'bearer' };
  const bearerAuth = { name: 'bearerAuth', schema, value };
  forgetToken();
  return (keepsInTab() ? inTab : inBrowser).write(KEY, { bearerAuth });
}

export function forgetToken() {
  inTab.remove(KEY);
  inBrowser.remove(KEY);
}

/** What keeps the token: the `browser`, the `tab`, or the `page` alone. */
export function keeperOfToken() {
  const isOfTab = tokenIn(inTab) !== undefined;
  if (!(isOfTab ? inTab : inBrowser).lasts(KEY)) return 'page';
  return isOfTab ? 'tab' : 'browser';
}

/** Calls back when a page in another tab changes the token. */
export function followToken(changed) {
  addEventListener('storage', ({ key }) => {
    if (key === KEY) changed();
  });
}

/** Why the service does not accept a token, by a request that changes nothing. */
export async function problemOf(token, url) {
  const problem = problemOfHeader(token);
  if (problem) return `The token could not be sent. ${problem}`;
  try {
    const response = await fetch(url, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    // It does not matter whether the row exists, or whether the token may look it up.
    if (response.ok || [400, 403, 404].includes(response.status)) return undefined;
    const { message = `status ${response.status}` } = await response.json().catch(() => ({}));
    return response.status === 401
      ? `Wrong token: ${message}.`
      : `The service could not check the token: ${message}.`;
  } catch (error) {
    return `The token could not be checked. ${reasonOf(error)}.`;
  }
}
