import { headersOf, PLACEHOLDERS } from './sample-request.js';
import type { SampleRequest, SampleResource } from './sample-request.js';
import { literal } from './sample-literals.js';
import type { Notation } from './sample-literals.js';

/** The client of plants reads their changes, too. */
const PLANTS: SampleResource = { name: 'plants', int64: ['id'] };

/** The request with the project's client, or with `fetch` if the client does not have it. */
export function typescriptSample(request: SampleRequest): string {
  const { resource = PLANTS } = request;
  const call = callOf(request, resource);
  return call === undefined ? fetchSample(request) : `${clientOf(resource)}\n${call}`;
}

/** Plants have a client of their own; any other resource needs its name and its 64-bit members. */
function clientOf({ name, int64 }: SampleResource): string {
  const [type, start] =
    name === 'plants'
      ? ['PlantStore', '']
      : ['Resource', `${quoted(name)}, [${int64.map(quoted).join(', ')}], `];
  return `import { ${type} } from 'plant-store-client';

const ${variableOf(name)} = new ${type}(${start}{
  url: '${PLACEHOLDERS.base}',
  token: '${PLACEHOLDERS.token}',
});`;
}

function callOf({ method, path, body, headers }: SampleRequest, resource: SampleResource) {
  const { name, id, int64 } = resource;
  const notation: Notation = {
    text: quoted,
    integer: (value, member) => (int64.includes(member) ? `${value}n` : String(value)),
    member: (member) => (/^[a-zA-Z_]\w*$/.test(member) ? member : quoted(member)),
    words: ['true', 'false', 'null'],
    indent: '  ',
    spaced: true,
  };
  const store = variableOf(name);
  const [value] = body?.values ?? [];
  const ifMatch = 'If-Match' in headers;
  const read = ifMatch ? `const { etag = '*' } = await ${store}.get(${id}n);\n` : '';
  const options = ifMatch ? ', { ifMatch: etag }' : '';
  const change = (verb: string) =>
    `${read}const changed = await ${store}.${verb}(${id}n, ${literal(notation, value)}${options});\nconsole.log(changed);`;
  switch (`${method} ${path.replace(String(id), '{id}')}`) {
    case `POST /${name}`:
      return `const created = await ${store}.create(${literal(notation, value)});\nconsole.log(created);`;
    case `GET /${name}`:
      return `for await (const one of ${store}.${name === 'plants' ? name : 'all'}()) console.log(one);`;
    case `GET /${name}/export`:
      return `for await (const one of ${store}.export()) console.log(one);`;
    case `POST /${name}/import`:
      return `const running = ${store}.import(${literal(notation, body?.values)});
for await (const { line, message } of running) console.warn(line, message);
console.log(await running.summary());`;
    case `GET /${name}/{id}`:
      return `const found = await ${store}.get(${id}n);\nconsole.log(found);`;
    case `PUT /${name}/{id}`:
      return change('replace');
    case `PATCH /${name}/{id}`:
      return change('patch');
    case `DELETE /${name}/{id}`:
      return `${read}await ${store}.remove(${id}n${options});`;
    case 'GET /changes':
      return `for await (const change of ${store}.changes()) console.log(change);`;
    case 'GET /changes/latest':
      return `console.log(await ${store}.latestPosition());`;
    default:
      return undefined;
  }
}

function variableOf(name: string): string {
  return name === 'plants' || !/^[a-z]\w*$/i.test(name) ? 'store' : name;
}

function fetchSample(request: SampleRequest): string {
  const { method, path, body } = request;
  const headers = headersOf(request).map(
    ([name, value]) => `    ${name.includes('-') ? quoted(name) : name}: ${quoted(value)},\n`,
  );
  return `const response = await fetch(${quoted(PLACEHOLDERS.base + path)}, {
${method === 'GET' ? '' : `  method: '${method}',\n`}  headers: {
${headers.join('')}  },
${body === undefined ? '' : `  body: ${quoted(body.text)},\n`}});
// As text, because JSON.parse rounds ids beyond 2^53.
console.log(response.status, await response.text());`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
}
