import { headersOf, PLACEHOLDERS } from './request.js';
import { literal } from './literals.js';

/** The request with the project's client, or with `fetch` if there is none or it does not have it. */
export function typescriptSample(request, client) {
  const { resource = resourceOf(client) } = request;
  if (client === undefined || resource === undefined) return fetchSample(request);
  const isOwn = resource.name === client.resource?.name;
  const store = isOwn || !/^[a-z]\w*$/i.test(resource.name) ? 'store' : resource.name;
  const call = callOf(request, resource, { store, isOwn });
  return call === undefined
    ? fetchSample(request)
    : `${clientOf(client, resource, store)}\n${call}`;
}

/** What the operations belong to that are of no resource, such as those of the changes. */
function resourceOf(client) {
  return client?.resource && { name: client.resource.name, int64: [] };
}

/** One resource may have a class of its own; any other needs its name and its 64-bit properties. */
function clientOf(client, { name, int64 }, store) {
  const [type, start] =
    name === client.resource?.name
      ? [client.resource.className, '']
      : ['Resource', `${quoted(name)}, [${int64.map(quoted).join(', ')}], `];
  const source =
    client.tarball === undefined ? client.package : `${PLACEHOLDERS.base}/${client.tarball}`;
  return `// npm install ${source}
import { ${type} } from ${quoted(client.package)};

const ${store} = new ${type}(${start}{
  url: '${PLACEHOLDERS.base}',
  token: '${PLACEHOLDERS.token}',
});`;
}

function callOf({ method, path, body, headers }, resource, { store, isOwn }) {
  const { name, id, int64 } = resource;
  const others = Object.keys(headers).filter((field) => field !== 'If-Match');
  if (others.length > 0 || (body && body.values === undefined)) return undefined;
  const notation = {
    text: quoted,
    integer: (value, property) => (int64.includes(property) ? `${value}n` : String(value)),
    property: (property) => (/^[a-zA-Z_]\w*$/.test(property) ? property : quoted(property)),
    words: ['true', 'false', 'null'],
    indent: '  ',
    spaced: true,
  };
  const [value] = body?.values ?? [];
  const key = /^-?(0|[1-9]\d*)$/.test(id) ? `${id}n` : quoted(id ?? '');
  const ifMatch = 'If-Match' in headers;
  const read = ifMatch ? `const { etag = '*' } = await ${store}.get(${key});\n` : '';
  const options = ifMatch ? ', { ifMatch: etag }' : '';
  const change = (verb) =>
    `${read}const changed = await ${store}.${verb}(${key}, ${literal(notation, value)}${options});\nconsole.log(changed);`;
  const isOfOne = id !== undefined && path === `/${name}/${encodeURIComponent(id)}`;
  switch (`${method} ${isOfOne ? `/${name}/{id}` : path}`) {
    case `POST /${name}`:
      return `const created = await ${store}.create(${literal(notation, value)});\nconsole.log(created);`;
    case `GET /${name}`:
      return `for await (const one of ${store}.${isOwn ? name : 'all'}()) console.log(one);`;
    case `GET /${name}/export`:
      return `for await (const one of ${store}.export()) console.log(one);`;
    case `POST /${name}/import`:
      return `const running = ${store}.import(${literal(notation, body?.values)});
for await (const { line, message } of running) console.warn(line, message);
console.log(await running.summary());`;
    case `GET /${name}/{id}`:
      return `const found = await ${store}.get(${key});\nconsole.log(found);`;
    case `PUT /${name}/{id}`:
      return change('replace');
    case `PATCH /${name}/{id}`:
      return change('patch');
    case `DELETE /${name}/{id}`:
      return `${read}await ${store}.remove(${key}${options});`;
    case 'GET /changes':
      return `for await (const change of ${store}.changes()) console.log(change);`;
    case 'GET /changes/latest':
      return `console.log(await ${store}.latestPosition());`;
    default:
      return undefined;
  }
}

function fetchSample(request) {
  const { method, path, body } = request;
  const headers = headersOf(request).map(
    ([name, value]) => `    ${name.includes('-') ? quoted(name) : name}: ${quoted(value)},\n`,
  );
  const [value, before = ''] = body ? valueOf(body) : [];
  return `${before}const response = await fetch(${quoted(PLACEHOLDERS.base + path)}, {
${method === 'GET' ? '' : `  method: '${method}',\n`}  headers: {
${headers.join('')}  },
${body ? `  body: ${value},\n` : ''}});
// As text, because JSON.parse rounds ids beyond 2^53.
console.log(response.status, await response.text());`;
}

/** The body, and what comes before all. */
function valueOf({ text, file }) {
  return text === undefined
    ? [`await openAsBlob(${quoted(file)})`, `import { openAsBlob } from 'node:fs';\n\n`]
    : [quoted(text)];
}

function quoted(text) {
  return `'${text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)}'`;
}
