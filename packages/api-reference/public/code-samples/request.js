/** The address of the service and the token in code samples; the page puts in the real values. */
export const PLACEHOLDERS = { base: 'http://localhost:3000', token: 'YOUR_TOKEN' };

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
