/** The address of the service and the token in code samples, until the page puts in the real values. */
export const EXAMPLES = { base: 'http://localhost:3000', token: 'YOUR_TOKEN' };

/** Where they are. A noncharacter of Unicode marks them, because a request may have the same text. */
export const PLACEHOLDERS = {
  base: `\uFDD0${EXAMPLES.base}`,
  token: `\uFDD0${EXAMPLES.token}`,
};

/** The header fields of a request, the media type of its body included. */
export function headersOf({ headers, body }) {
  return Object.entries({
    Authorization: `Bearer ${PLACEHOLDERS.token}`,
    ...(body && { 'Content-Type': body.type }),
    ...headers,
  });
}

/** Whether a body of this media type is one value of JSON. */
export function isJson(type) {
  return /[/+]json$/.test(type);
}
