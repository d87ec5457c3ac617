import { parse, stringify } from 'lossless-json';
import type { LosslessNumber } from 'lossless-json';
import { marked } from 'marked';
import { codeSamples, PLACEHOLDERS } from './code-samples.js';
import { Html, html } from './html.js';

/* The parts of an OpenAPI 3.1 document that the reference shows. Numbers keep their digits. */

interface Schema {
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: LosslessNumber;
  readonly maximum?: LosslessNumber;
  readonly example?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

interface Content {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface TypedContent extends Content {
  /** Its media type. */
  readonly type: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface Described {
  readonly description?: string;
}

interface Bodied extends Described {
  readonly content?: Readonly<Record<string, Content>>;
}

interface Answer extends Bodied {
  readonly headers?: Readonly<Record<string, Described>>;
  readonly links?: Readonly<Record<string, Described & { readonly operationId: string }>>;
}

interface Operation extends Described {
  readonly operationId: string;
  readonly summary: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Bodied;
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** An operation and where it is. */
interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

/** A failure as the examples of a document have it. */
interface Failure {
  readonly number: string;
  readonly status: string;
  readonly meaning: string;
}

const JSON_TYPE = 'application/json';

/** Writes what an OpenAPI document says as HTML: an introduction, then every operation. */
export function renderReference(text: string): Html {
  const { info, paths } = withoutReferences(parse(text)) as Document;
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign(operation, { method, path }),
    ),
  );
  const all = endpoints.map((endpoint) => failuresOf(endpoint));
  const common = (all[0] ?? []).filter(({ number }) =>
    all.every((failures) => failures.some((failure) => failure.number === number)),
  );
  const [tagline = '', ...about] = info.description.split('\n\n');
  return html`
    <section class="intro">
      <h1>${info.title} <small>${info.version}</small></h1>
      <div class="tagline">${markdown(tagline)}</div>
    </section>
    <div id="static">
      <div class="token-help" data-slot="token">
        <h2>Token</h2>
        <p>
          Every request needs one. <code>npm start</code> prints it; with
          <code>docker compose up</code>, it is in the log. Elsewhere, ask the operator of the
          service.
        </p>
      </div>
      <ul class="operations" data-slot="operations">
        ${endpoints.map((endpoint) => html`<li><a href="#${anchorOf(endpoint)}">${nameOf(endpoint)}</a></li> `)}
      </ul>
      ${endpoints.map((endpoint) => operationSection(endpoint, endpoints, common))}
    </div>
    <div id="swagger-ui"></div>
    <noscript><p>Sending requests from this page needs JavaScript.</p></noscript>
    ${about.length > 0 ? aboutSection(about) : html``}
  `;
}

function aboutSection(paragraphs: readonly string[]): Html {
  return html`<section class="about">
    <h2>About the API</h2>
    ${paragraphs.map((paragraph) => markdown(paragraph))}
  </section>`;
}

function operationSection(
  endpoint: Endpoint,
  endpoints: readonly Endpoint[],
  common: readonly Failure[],
): Html {
  return html`<article class="operation" id="${anchorOf(endpoint)}">
    <h3 class="operation-name">${nameOf(endpoint)}</h3>
    <div class="reference" data-slot="${endpoint.operationId}">
      <div class="reference-text">
        ${markdown(endpoint.description ?? '')}
        ${parametersSection('Parameters', endpoint, (place) => place !== 'header')}
        ${bodySection(endpoint)}
        ${parametersSection('Headers', endpoint, (place) => place === 'header')}
        ${Object.entries(endpoint.responses)
          .filter(([status]) => status.startsWith('2'))
          .map(([status, answer]) => answerSection(status, answer, endpoints))}
        ${failuresSection(failuresOf(endpoint), common)} ${headersSection(endpoint)}
      </div>
      ${codeSection(endpoint)}
    </div>
  </article>`;
}

function parametersSection(
  title: string,
  { parameters = [] }: Endpoint,
  isShown: (place: string) => boolean,
): Html {
  const shown = parameters.filter((parameter) => isShown(parameter.in));
  if (shown.length === 0) return html``;
  const fields = shown.map(({ name, required = false, description = '', schema }) => ({
    name,
    required,
    schema: { ...schema, description },
  }));
  return html`<h4>${title}</h4>
    ${fieldsTable(fields)}`;
}

function bodySection({ requestBody }: Endpoint): Html {
  if (requestBody === undefined) return html``;
  const { type, schema } = firstContent(requestBody);
  return html`<h4>Body <small>${type}</small></h4>
    ${schema.properties ? fieldsTable(membersOf(schema)) : markdown(requestBody.description ?? '')}`;
}

function answerSection(status: string, answer: Answer, endpoints: readonly Endpoint[]): Html {
  const content = firstContent(answer).schema;
  const schema = content.items ?? content;
  const next = Object.values(answer.links ?? {}).flatMap(({ operationId }) =>
    endpoints.filter((endpoint) => endpoint.operationId === operationId),
  );
  return html`<h4>
      Response <small>${status}: ${inlineMarkdown(answer.description ?? '')}</small>
    </h4>
    ${content.items ? html`<p>An array. Each item has these members:</p>` : html``}
    ${schema.properties ? fieldsTable(membersOf(schema)) : html``}
    ${schema.additionalProperties ? html`<p class="note">Later versions may add members.</p>` : html``}
    ${next.map((endpoint) => html`<p class="note">Next: <a href="#${anchorOf(endpoint)}">${endpoint.summary}</a></p>`)}`;
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

function membersOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    schema,
  }));
}

function fieldsTable(fields: readonly Field[]): Html {
  const rows = fields.map(
    ({ name, required, schema }) =>
      html`<tr>
        <th scope="row"><code>${name}</code></th>
        <td>
          ${[schema.type ?? []].flat().join(' or ')}${schema.format ? ` (${schema.format})` : ''}
        </td>
        <td class="${required ? 'required' : 'optional'}">${required ? 'required' : 'optional'}</td>
        <td>${markdown(schema.description ?? '')}${limitsOf(schema)}</td>
      </tr>`,
  );
  return html`<table class="fields">
    <thead>
      <tr>
        <th>Name</th>
        <th>Type</th>
        <th>Required</th>
        <th>Rule</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

function limitsOf({ minimum, maximum, description = '' }: Schema): Html {
  const limits = [
    ['at least', minimum],
    ['at most', maximum],
  ] as const;
  return html`${limits.flatMap(([word, limit]) =>
    limit === undefined || description.includes(limit.value)
      ? []
      : [html`<div>${word} <code>${limit.value}</code></div>`],
  )}`;
}

function failuresOf({ responses }: Endpoint): Failure[] {
  return Object.entries(responses).flatMap(([status, { content }]) =>
    Number(status) < 400
      ? []
      : Object.values(content?.[JSON_TYPE]?.examples ?? {})
          .toSorted(byErrorNumber)
          .map((example) => ({
            number: String(errorNumber(example)),
            status,
            meaning: example.summary ?? '',
          })),
  );
}

function byErrorNumber(one: Example, other: Example): number {
  return errorNumber(one) - errorNumber(other);
}

function errorNumber({ value }: Example): number {
  return Number((value as { readonly error: unknown }).error);
}

function failuresSection(failures: readonly Failure[], common: readonly Failure[]): Html {
  const isCommon = ({ number }: Failure) => common.some((failure) => failure.number === number);
  const own = failures.filter((failure) => !isCommon(failure));
  if (failures.length === 0) return html``;
  return html`<h4>Failures</h4>
    ${own.length > 0 ? failuresTable(own) : html``}
    ${common.length > 0 ? folded('Failures of every operation', failuresTable(common)) : html``}`;
}

function failuresTable(failures: readonly Failure[]): Html {
  return html`<table class="failures">
    <thead>
      <tr>
        <th>Status</th>
        <th>Error</th>
        <th>Meaning</th>
      </tr>
    </thead>
    <tbody>
      ${failures.map(
        ({ number, status, meaning }) =>
          html`<tr>
            <td>${status}</td>
            <td><code>${number}</code></td>
            <td>${meaning}</td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

function headersSection({ responses }: Endpoint): Html {
  const headers = new Map<string, { statuses: string[]; description: string }>();
  for (const [status, answer] of Object.entries(responses)) {
    for (const [name, { description = '' }] of Object.entries(answer.headers ?? {})) {
      const header = headers.get(name) ?? { statuses: [], description };
      header.statuses.push(status);
      headers.set(name, header);
    }
  }
  if (headers.size === 0) return html``;
  const rows = [...headers].map(
    ([name, { statuses, description }]) =>
      html`<tr>
        <th scope="row"><code>${name}</code></th>
        <td>
          ${statuses.length === Object.keys(responses).length ? 'every response' : statuses.join(', ')}
        </td>
        <td>${markdown(description)}</td>
      </tr>`,
  );
  return folded(
    'Response headers',
    html`<table class="headers">
      <thead>
        <tr>
          <th>Header</th>
          <th>With</th>
          <th>Meaning</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`,
  );
}

function folded(title: string, content: Html): Html {
  return html`<details>
    <summary>${title}</summary>
    ${content}
  </details>`;
}

function codeSection(endpoint: Endpoint): Html {
  const { method, operationId, parameters = [], requestBody, responses } = endpoint;
  const path = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((filled, { name, schema, example, examples }) => {
      const value = (firstOf(examples)?.value ?? example ?? schema.example) as
        string | LosslessNumber | undefined;
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
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'));
  // The last is the most particular to the operation.
  const failure = Object.values(responses['400']?.content?.[JSON_TYPE]?.examples ?? {})
    .toSorted(byErrorNumber)
    .at(-1)?.value;
  return html`<div class="reference-code">
    <fieldset class="samples">
      <legend>Request</legend>
      ${tabs}
      ${Object.entries(samples).map(([language, code]) => html`<pre data-sample="${language}"><code>${withPlaceholders(code)}</code></pre>`)}
    </fieldset>
    ${answerSample('Response', 'success', success?.[0], exampleText(firstContent(success?.[1]), 2))}
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

function nameOf({ method, path, summary }: Endpoint): Html {
  const name = method.toUpperCase();
  return html`<span class="method ${method}">${name}</span> <code>${path}</code>
    <span class="summary">${summary}</span>`;
}

/** The id that Swagger UI gives an operation. */
function anchorOf({ operationId, tags = [] }: Endpoint): string {
  return `operations-${tags[0] ?? 'default'}-${operationId}`;
}

function firstOf(examples: Readonly<Record<string, Example>> = {}): Example | undefined {
  return Object.values(examples)[0];
}

/** The content with the media type that comes first. */
function firstContent({ content = {} }: Bodied = {}): TypedContent {
  const [type, first] = Object.entries(content)[0] ?? ['', { schema: {} }];
  return { type, ...first };
}

/** The first example as it is sent: a media type other than JSON has text. */
function exampleText({ type, examples }: TypedContent, indent?: number): string | undefined {
  const value = firstOf(examples)?.value;
  return typeof value === 'string' && type !== JSON_TYPE
    ? value
    : stringify(value, undefined, indent);
}

function inlineMarkdown(text: string): Html {
  return new Html(marked.parseInline(text, { async: false }));
}

function markdown(text: string): Html {
  return new Html(marked.parse(text, { async: false }));
}

/** The document with what its `$ref`s name in their place. It has no circles. */
function withoutReferences(document: unknown): unknown {
  const expand = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(expand);
    if (typeof node !== 'object' || node === null || 'isLosslessNumber' in node) return node;
    if ('$ref' in node) return expand(targetOf(String(node.$ref)));
    return Object.fromEntries(Object.entries(node).map(([key, member]) => [key, expand(member)]));
  };
  const targetOf = (pointer: string): unknown =>
    pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document);
  return expand(document);
}
