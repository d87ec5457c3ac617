/* Why a request was not sent or got no response. The words of browsers differ, and do not say what to check. */

export function reasonOf({ name }) {
  return name === 'TimeoutError'
    ? 'The service did not respond in time'
    : 'Check that the service runs, that this device is online, and that no proxy or extension of the browser blocks the request';
}

/** What is wrong with the value of a header field, if anything: browsers send Latin-1 only. */
export function problemOfHeader(value) {
  const [character] = /[\u{100}-\u{10FFFF}]/u.exec(value) ?? [];
  return character ? `A header field cannot have the character \u201C${character}\u201D.` : '';
}

/** Whether a file was changed or removed after the reader chose it: browsers do not send it then. */
export function isStale(body) {
  if (!(body instanceof Blob)) return Promise.resolve(false);
  return body
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => false,
      () => true,
    );
}
