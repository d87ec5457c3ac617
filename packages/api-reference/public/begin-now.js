import { authorization } from './kept-token.js';
import { showResponse } from './response.js';
import { BASE } from './samples.js';

/** Sends a request for a stream that begins with what comes from now on: after the newest position, which another operation has. */
export async function beginNow(form, { begins, parameter, property }) {
  const request = { url: BASE + begins, method: 'GET', headers: authorization() };
  const position = await newest(request, property);
  if (position === undefined) {
    // Says why.
    await showResponse(form, request, new AbortController());
    return;
  }
  const { Accept: accept, 'Last-Event-ID': last } = form.elements;
  if (accept) accept.value = 'text/event-stream';
  // It would have priority.
  if (last) last.value = '';
  form.elements[parameter].value = position;
  form.dispatchEvent(new Event('input'));
  form.requestSubmit();
}

/** As text, of which no digit is lost. */
async function newest({ url, ...options }, property) {
  const text = await fetch(url, options).then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  );
  return new RegExp(String.raw`"${property}":\s*"?(-?\w+)`).exec(text)?.[1];
}
