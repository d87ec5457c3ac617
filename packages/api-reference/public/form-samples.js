/* The code samples of an operation, with what is filled in. */

import { codeSamples } from './code-samples/code-samples.js';
import { highlighted } from './code-samples/highlight.js';
import { isJson } from './code-samples/request.js';
import { BASE } from './samples.js';

const client = JSON.parse(document.querySelector('.api').dataset.client ?? 'null') ?? undefined;

export function showAsCode(form, request) {
  const samples = codeSamples(sampleOf(form, request), client);
  for (const block of form.closest('.operation').querySelectorAll('[data-sample]')) {
    const language = block.dataset.sample;
    block.querySelector('code').innerHTML = highlighted(samples[language], language);
  }
}

function sampleOf(form, { url, method, headers, body }) {
  const { Authorization: _, 'Content-Type': type, Accept: accept, ...others } = headers;
  const { resource } = form.dataset;
  const id = form.querySelector('[data-in="path"]')?.value;
  // The first is what the service returns anyway.
  const isChosen = form.querySelector('[name="Accept"]')?.selectedIndex > 0;
  return {
    method,
    path: url.slice(BASE.length),
    headers: { ...(isChosen && { Accept: accept }), ...others },
    ...(body !== undefined && { body: bodyOf(type, body) }),
    ...(resource && { resource: { ...JSON.parse(resource), ...(id && { id }) } }),
  };
}

/** What it consists of is left out if it is no JSON. */
function bodyOf(type, text) {
  if (text instanceof File) return { type, file: text.name };
  const texts = isJson(type)
    ? [text]
    : type.endsWith('ndjson')
      ? text.split('\n').filter(Boolean)
      : [];
  try {
    const values = texts.map((one) => JSON.parse(one, exactly));
    return values.length > 0 ? { type, text, values } : { type, text };
  } catch {
    return { type, text };
  }
}

/** Keeps every digit. A browser that does not pass the digits stops here, so that none is lost. */
function exactly(_key, value, { source } = {}) {
  if (typeof value !== 'number') return value;
  if (source === undefined) throw new Error('this browser rounds integers');
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}
