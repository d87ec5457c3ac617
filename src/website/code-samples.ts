/** A request, as its code samples need it. */
export interface SampleRequest {
  readonly method: string;
  /** With the values of its parameters. */
  readonly path: string;
  readonly body?: SampleBody;
}

export interface SampleBody {
  /** Its media type. */
  readonly type: string;
  readonly text: string;
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
      ...(body === undefined
        ? []
        : [`-H 'Content-Type: ${body.type}'`, `${dataOption(body)} ${shell(body.text)}`]),
    ].join(' \\\n  '),
    fetch: `const response = await fetch('${url}', {
${method === 'GET' ? '' : `  method: '${method}',\n`}  headers: {
    Authorization: '${bearer}',
${body === undefined ? '  },\n' : `    'Content-Type': '${body.type}',\n  },\n  body: ${stringLiteral(body.text)},\n`}});
// As text, because JSON.parse rounds ids beyond 2^53.
console.log(response.status, await response.text());`,
    Python: `import requests

response = requests.${method.toLowerCase()}(
    '${url}',
    headers={
        'Authorization': '${bearer}',
${body === undefined ? '    },\n' : `        'Content-Type': '${body.type}',\n    },\n    data=${stringLiteral(body.text)}.encode(),\n`})
print(response.status_code, response.text)`,
  };
}

/** Readers replace lines by `@FILE`, from which `-d` would remove the line breaks. */
function dataOption({ type }: SampleBody): string {
  return type === 'application/json' ? '-d' : '--data-binary';
}

function shell(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A string literal of JavaScript and Python. */
function stringLiteral(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
}
