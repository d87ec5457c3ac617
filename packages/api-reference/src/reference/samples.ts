import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import { codeSamples, LANGUAGES } from '../../public/code-samples/code-samples.js';
import type {
  Client,
  SampleBody,
  SampleRequest,
  SampleResource,
} from '../../public/code-samples/code-samples.js';
import { highlighted } from '../../public/code-samples/highlight.js';
import { isJson } from '../../public/code-samples/request.js';
import { Html, html } from '../html.js';
import {
  errorsOf,
  exampleText,
  firstExample,
  mainContent,
  parameterExample,
  propertiesWithFormat,
  successesOf,
} from './document.js';
import type { Endpoint } from './document.js';

/** The choice of the language of all code samples. Each operation has further labels of it, which are no names. */
export function languageChoice(): Html {
  return html`<fieldset class="languages">
    <legend>Code samples</legend>
    ${LANGUAGES.map(
      (language, index) =>
        html`<label>
          <input
            type="radio"
            name="language"
            id="language-${language}"
            value="${language}"
            aria-label="${language}"
            ${index === 0 && html`checked`}
          />
          <span>${language}</span>
        </label> `,
    )}
  </fieldset>`;
}

/** What code samples depend on besides their operation. */
export interface SampleSurroundings {
  readonly endpoints: readonly Endpoint[];
  readonly client?: Client;
  /** The address of the service, if the document has it. */
  readonly base?: string;
}

/** An example of an operation: the request in several languages, and two responses. */
export function samplesSection(
  endpoint: Endpoint,
  { endpoints, client, base }: SampleSurroundings,
): Html {
  const samples = codeSamples(sampleRequest(endpoint, endpoints), client);
  const [status, success] = successesOf(endpoint)[0] ?? [];
  const { type, examples } = mainContent(success);
  const response = exampleText(type, firstExample(examples), 2);
  // The last is the most particular to the operation.
  const error = errorsOf(endpoint).findLast((one) => one.status === '400')?.body;
  return html`<div class="reference-code">
    <div class="samples">
      <p class="code-title">
        Request
        <span aria-hidden="true">
          ${LANGUAGES.map((language) => html`<label for="language-${language}" data-language="${language}">${language}</label> `)}
        </span>
      </p>
      ${LANGUAGES.map(
        (language) =>
          html`<div class="code" data-title="request in ${language}" data-sample="${language}">
            <pre><code>${new Html(highlighted(samples[language], language, base))}</code></pre>
          </div>`,
      )}
    </div>
    ${responseSample('Response', 'success', status, response)}
    ${responseSample('An error', 'failure', '400', stringify(error, undefined, 2))}
  </div>`;
}

function responseSample(title: string, kind: string, status = '', body?: string): Html {
  if (body === undefined) return html``;
  return html`<p class="code-title">${title} <span class="status ${kind}">${status}</span></p>
    <div class="code" data-title="${title.toLowerCase()}">
      <pre><code>${new Html(highlighted(body, 'JSON'))}</code></pre>
    </div>`;
}

function sampleRequest(endpoint: Endpoint, endpoints: readonly Endpoint[]): SampleRequest {
  const { method, parameters = [], requestBody } = endpoint;
  const values = parameters.flatMap((parameter) => {
    const value = parameterExample(parameter);
    return value === undefined ? [] : [{ ...parameter, value }];
  });
  const path = values
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (filled, { name, value }) => filled.replace(`{${name}}`, encodeURIComponent(value)),
      endpoint.path,
    );
  const body = requestBody && sampleBody(endpoint);
  const resource = sampleResource(endpoint, endpoints);
  const id = values.find((parameter) => parameter.in === 'path');
  return {
    method: method.toUpperCase(),
    path,
    headers: Object.fromEntries(
      values.filter((one) => one.in === 'header').map((one) => [one.name, one.value]),
    ),
    ...(body !== undefined && { body }),
    ...(resource !== undefined && {
      resource: { ...resource, ...(id !== undefined && { id: id.value }) },
    }),
  };
}

/** What the operation belongs to, if it has a create. */
export function sampleResource(
  { path }: Endpoint,
  endpoints: readonly Endpoint[],
): Omit<SampleResource, 'id'> | undefined {
  const [, name = ''] = path.split('/');
  const create = endpoints.find((one) => one.method === 'post' && one.path === `/${name}`);
  return (
    create && { name, int64: propertiesWithFormat(mainContent(create.requestBody).schema, 'int64') }
  );
}

function sampleBody({ requestBody }: Endpoint): SampleBody | undefined {
  const { type, examples } = mainContent(requestBody);
  const example = firstExample(examples);
  const text = exampleText(type, example);
  if (text === undefined) return undefined;
  if (isJson(type)) return { type, text, values: [example] };
  if (!type.endsWith('ndjson')) return { type, text };
  const lines = text.split('\n').filter((line) => line !== '');
  return { type, text, values: lines.map((line) => parse(line, undefined, parseNumberAndBigInt)) };
}
