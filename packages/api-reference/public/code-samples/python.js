import { headersOf, isJson, PLACEHOLDERS } from './request.js';
import { literal } from './literals.js';

const NOTATION = {
  text: (text) => JSON.stringify(text),
  integer: String,
  property: (name) => JSON.stringify(name),
  words: ['True', 'False', 'None'],
  indent: '    ',
  spaced: false,
};

/** The request with requests, the library that most people use. */
export function pythonSample(request) {
  const { method, path, body } = request;
  // `json` sets the media type by itself.
  const headers = headersOf(request).filter(
    ([name, value]) => !(body?.values && name === 'Content-Type' && value === 'application/json'),
  );
  const [data = '', before = '', module = ''] = body ? dataOf(body) : [];
  return `# pip install requests
${module}import requests

${before}response = requests.${method.toLowerCase()}(
    ${NOTATION.text(PLACEHOLDERS.base + path)},
    headers=${literal(NOTATION, Object.fromEntries(headers), '    ')},
${data === '' ? '' : `    ${data},\n`})
print(response.status_code, response.text)`;
}

/** The argument for the body, and what comes before the call and before all. */
function dataOf({ type, text, file, values }) {
  if (text === undefined) return [`data=open(${NOTATION.text(file)}, "rb")`];
  if (values === undefined) return [`data=${NOTATION.text(text)}`];
  if (isJson(type)) return [`json=${literal(NOTATION, values[0], '    ')}`];
  return [
    String.raw`data="\n".join(json.dumps(record) for record in records)`,
    `records = ${literal(NOTATION, values)}\n`,
    'import json\n\n',
  ];
}
