/** A request as a line for the shell, in which a copy has the token. */
export function curlOf({ url, method, headers, body }) {
  const { Authorization: authorization, ...others } = headers;
  const line = document.createDocumentFragment();
  // Without a buffer, so that events are printed when they arrive.
  const options = headers.Accept === 'text/event-stream' ? '-N ' : '';
  line.append(`curl ${options}-X ${method} ${quoted(url)}`);
  if (authorization) {
    const token = document.createElement('span');
    token.dataset.fill = 'token';
    token.textContent = '••••••••';
    line.append(` \\\n  -H 'Authorization: Bearer `, token, `'`);
  }
  for (const [name, value] of Object.entries(others)) {
    line.append(` \\\n  -H ${quoted(`${name}: ${value}`)}`);
  }
  if (body instanceof File) line.append(` \\\n  --data-binary ${quoted(`@${body.name}`)}`);
  // Curl would take `@` for a file.
  else if (body?.startsWith('@')) line.append(` \\\n  --data-raw ${quoted(body)}`);
  else if (body !== undefined) line.append(` \\\n  --data-binary ${quoted(body)}`);
  return line;
}

function quoted(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
