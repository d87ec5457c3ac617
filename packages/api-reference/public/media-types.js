/* What a response is, by its media type. */

export function isJson(response) {
  return /[/+]json\b/.test(typeOf(response));
}

/** Server-sent events arrive as long as the service has any. */
export function isEvents(response) {
  return typeOf(response).startsWith('text/event-stream');
}

/** A response of events or rows, which may go on from where it has ended. */
export function isStream(response) {
  return isEvents(response) || typeOf(response).includes('ndjson');
}

function typeOf(response) {
  return response.headers.get('Content-Type') ?? '';
}
