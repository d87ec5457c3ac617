import { goSample } from './go.js';
import { pythonSample } from './python.js';
import { headersOf, isJson, PLACEHOLDERS } from './request.js';
import type { SampleBody, SampleRequest } from './request.js';
import { typescriptSample } from './typescript.js';
import type { Client } from './typescript.js';

/** In the order in which the page offers them. */
export const LANGUAGES = ['curl', 'TypeScript', 'Python', 'Go'] as const;

/**
 * The request in code, by language. No digit of an id is lost.
 *
 * @param client in TypeScript, if there is one
 */
export function codeSamples(
  request: SampleRequest,
  client?: Client,
): Readonly<Record<(typeof LANGUAGES)[number], string>> {
  return {
    curl: curlSample(request),
    TypeScript: typescriptSample(request, client),
    Python: pythonSample(request),
    Go: goSample(request),
  };
}

function curlSample(request: SampleRequest): string {
  const { method, path, body } = request;
  return [
    `curl ${shell(PLACEHOLDERS.base + path)}`,
    ...(method === (body === undefined ? 'GET' : 'POST') ? [] : [`-X ${method}`]),
    ...headersOf(request).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`${dataOption(body)} ${shell(body.text)}`]),
  ].join(' \\\n  ');
}

/** Readers replace lines by `@FILE`, from which `-d` would remove the line breaks. */
function dataOption({ type }: SampleBody): string {
  return isJson(type) ? '-d' : '--data-binary';
}

function shell(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
