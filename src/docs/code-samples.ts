/** A request, as its code samples need it. */
export interface SampleRequest {
  readonly method: string;
  /** With the values of its parameters. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
}

/** The address of the service and the token in code samples; the page puts in the real values. */
export const PLACEHOLDERS = { base: 'http://localhost:3000', token: 'YOUR_TOKEN' } as const;

/** The request in code, by language. The body is text, so that no digit of an id is lost. */
export function codeSamples({ method, path, body }: SampleRequest): Record<string, string> {
  const url = PLACEHOLDERS.base + path;
  const bearer = `Bearer ${PLACEHOLDERS.token}`;
  return {
    curl: [
      `curl ${shell(url)}`,
      ...(method === (body === undefined ? 'GET' : 'POST') ? [] : [`-X ${method}`]),
      `-H 'Authorization: ${bearer}'`,
      ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${shell(body)}`]),
    ].join(' \\\n  '),
    fetch: `const response = await fetch('${url}', {
${method === 'GET' ? '' : `  method: '${method}',\n`}  headers: {
    Authorization: '${bearer}',
${body === undefined ? '  },\n' : `    'Content-Type': 'application/json',\n  },\n  body: ${quote(body)},\n`}});
// As text, because JSON.parse rounds ids beyond 2^53.
console.log(response.status, await response.text());`,
    Python: `import requests

response = requests.${method.toLowerCase()}(
    '${url}',
    headers={
        'Authorization': '${bearer}',
${body === undefined ? '    },\n' : `        'Content-Type': 'application/json',\n    },\n    data=${quote(body)}.encode(),\n`})
print(response.status_code, response.text)`,
  };
}

function shell(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A string literal of JavaScript and Python. */
function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
