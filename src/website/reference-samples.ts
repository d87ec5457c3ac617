import { stringify } from 'lossless-json';
import { codeSamples, PLACEHOLDERS } from './code-samples.js';
import { Html, html } from './html.js';
import {
  exampleText,
  failuresOf,
  firstContent,
  firstExample,
  successesOf,
} from './reference-document.js';
import type { Endpoint } from './reference-document.js';

/** An example of an operation: the request in several languages, and two answers. */
export function samplesSection(endpoint: Endpoint): Html {
  const { method, operationId, parameters = [], requestBody } = endpoint;
  const path = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((filled, { name, schema, example, examples }) => {
      const value = firstExample(examples) ?? example ?? schema?.example;
      return value === undefined
        ? filled
        : filled.replace(`{${name}}`, encodeURIComponent(String(value)));
    }, endpoint.path);
  const content = firstContent(requestBody);
  const body = exampleText(content);
  const samples = codeSamples({
    method: method.toUpperCase(),
    path,
    ...(body !== undefined && { body: { type: content.type, text: body } }),
  });
  const tabs = Object.keys(samples).map(
    (language, index) =>
      html`<label>
        <input
          type="radio"
          name="${operationId}"
          value="${language}"
          ${new Html(index === 0 ? ' checked' : '')}
        />
        <span>${language}</span>
      </label>`,
  );
  const [status, success] = successesOf(endpoint)[0] ?? [];
  // The last is the most particular to the operation.
  const failure = failuresOf(endpoint).findLast((one) => one.status === '400')?.body;
  return html`<div class="reference-code">
    <fieldset class="samples">
      <legend>Request</legend>
      ${tabs}
      ${Object.entries(samples).map(([language, code]) => html`<pre data-sample="${language}"><code>${withPlaceholders(code)}</code></pre>`)}
    </fieldset>
    ${answerSample('Response', 'success', status, exampleText(firstContent(success), 2))}
    ${answerSample('A failure', 'failure', '400', stringify(failure, undefined, 2))}
  </div>`;
}

function answerSample(title: string, kind: string, status = '', body?: string): Html {
  if (body === undefined) return html``;
  return html`<p class="code-title">${title} <span class="status ${kind}">${status}</span></p>
    <pre><code>${body}</code></pre>`;
}

function withPlaceholders(code: string): Html {
  const { source } = html`${code}`;
  return new Html(
    Object.entries(PLACEHOLDERS).reduce(
      (filled, [name, value]) =>
        filled.replaceAll(value, `<span data-fill="${name}">${value}</span>`),
      source,
    ),
  );
}
