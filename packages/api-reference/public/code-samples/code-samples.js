/* A request in code. The server writes the examples, and the page what is filled in. */

import { goSample } from './go.js';
import { pythonSample } from './python.js';
import { headersOf, isJson, PLACEHOLDERS } from './request.js';
import { typescriptSample } from './typescript.js';

export const LANGUAGES = ['curl', 'TypeScript', 'Python', 'Go'];

export function codeSamples(request, client) {
  return {
    curl: curlSample(request),
    TypeScript: typescriptSample(request, client),
    Python: pythonSample(request),
    Go: goSample(request),
  };
}

function curlSample(request) {
  const { method, path, body } = request;
  // Without a buffer, so that events are printed when they arrive.
  const options = request.headers.Accept === 'text/event-stream' ? '-N ' : '';
  return [
    `curl ${options}${shell(PLACEHOLDERS.base + path)}`,
    ...(method === (body ? 'POST' : 'GET') ? [] : [`-X ${method}`]),
    ...headersOf(request).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`),
    ...(body ? [`${dataOption(body)} ${shell(body.text ?? `@${body.file}`)}`] : []),
  ].join(' \\\n  ');
}

/** Readers replace lines by `@FILE`, from which `-d` would remove the line breaks. */
function dataOption({ type, text }) {
  if (text?.startsWith('@')) return '--data-raw';
  return isJson(type) ? '-d' : '--data-binary';
}

function shell(text) {
  return /^[\w:/.\uFDD0-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
