/* What differs in code: the address of the service, and the token. */

/** The address that the page came from, so that requests stay within it. */
export const BASE = new URL('.', document.baseURI).href.replace(/\/$/, '');

const PLACEHOLDER = 'YOUR_TOKEN';
const MASK = '••••••••';

export function fillInAddress() {
  for (const place of placesOf('base')) place.textContent = BASE;
}

/** Puts the token into the code, or dots unless it is to be seen. */
export function fillInToken(token, isShown) {
  const text = isShown ? token : MASK;
  for (const place of placesOf('token')) place.textContent = token ? text : PLACEHOLDER;
}

/** The text of code, with the token itself if there is one. */
export function codeWithToken(code, token) {
  const copy = code.cloneNode(true);
  if (token) for (const place of placesOf('token', copy)) place.textContent = token;
  return copy.textContent;
}

function placesOf(name, root = document) {
  return root.querySelectorAll(`[data-fill="${name}"]`);
}
