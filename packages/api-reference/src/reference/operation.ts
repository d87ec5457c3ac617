import { Html, html } from '../html.js';
import { markdown } from '../markdown.js';
import { answersOf, failuresOf, mainContent } from './document.js';
import type { Answer, Endpoint, Failure, Schema } from './document.js';
import type { Client } from '../samples/typescript.js';
import { samplesSection } from './samples.js';
import { failuresTable, fieldsTable, headersTable } from './tables.js';
import type { Remedies } from './tables.js';
import { tryForm } from './try-form.js';

/** What the reference of an operation refers to. */
export interface Surroundings {
  readonly endpoints: readonly Endpoint[];
  readonly schemas: readonly (readonly [name: string, Schema])[];
  /** The failures that every operation has. */
  readonly common: readonly Failure[];
  readonly remedies: Remedies;
  readonly client?: Client;
}

export function operationSection(endpoint: Endpoint, around: Surroundings): Html {
  const { operationId, method, path, summary, description = '' } = endpoint;
  const scope = endpoint['x-required-scope'];
  const linked = (text: string) => withSchemaLinks(markdown(text), around.schemas);
  return html`<article class="operation">
    <h3 id="${operationId}"><a href="#${operationId}">${summary}</a></h3>
    <p class="endpoint">
      <span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code>
      ${scope && html`<span class="scope">Scope <code>${scope}</code></span>`}
    </p>
    ${tryForm(endpoint)}
    <div class="reference">
      <div class="reference-text">
        ${linked(description)}
        ${parametersSection('Parameters', endpoint, (place) => place !== 'header')}
        ${bodySection(endpoint, linked)}
        ${parametersSection('Headers', endpoint, (place) => place === 'header')}
        ${answersOf(endpoint).map(([status, answer]) => answerSection(status, answer, around.endpoints, linked))}
        ${failuresSection(endpoint, around)}
        ${details('Response headers', headersTable(operationId, endpoint.responses))}
      </div>
      ${samplesSection(endpoint, around)}
    </div>
  </article>`;
}

function parametersSection(
  title: string,
  { operationId, parameters = [] }: Endpoint,
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
    ${fieldsTable(operationId, fields)}`;
}

function bodySection({ requestBody }: Endpoint, linked: (text: string) => Html): Html {
  if (requestBody === undefined) return html``;
  const { schema } = mainContent(requestBody);
  const types = Object.keys(requestBody.content).toReversed().join(' or ');
  return html`<h4>Body <small>${types}</small></h4>
    ${linked(requestBody.description ?? '')} ${schemaReference(schema)}`;
}

function answerSection(
  status: string,
  answer: Answer,
  endpoints: readonly Endpoint[],
  linked: (text: string) => Html,
): Html {
  const { type, schema } = mainContent(answer);
  const next = Object.values(answer.links ?? {}).flatMap(({ operationId }) =>
    endpoints.filter((endpoint) => endpoint.operationId === operationId),
  );
  return html`<h4>
      Response <span class="status success">${status}</span> ${type && html`<small>${type}</small>`}
    </h4>
    ${linked(answer.description ?? '')} ${schemaReference(schema)}
    ${next.map((endpoint) => html`<p class="note">Next: <a href="#${endpoint.operationId}">${endpoint.summary}</a></p>`)}`;
}

/** The name of a schema, and its members at a glance. */
function schemaReference(schema: Schema): Html {
  const { title, items, properties = {}, required = [] } = schema;
  if (items !== undefined)
    return html`<p>An array. Each item:</p>
      ${schemaReference(items)}`;
  if (title === undefined) return html``;
  const members = Object.keys(properties).map((name) =>
    required.includes(name)
      ? html` <a href="#schema-${title}.${name}"><code>${name}</code></a>`
      : html` <a href="#schema-${title}.${name}"><code>${name}</code></a
          >&nbsp;(optional)`,
  );
  return html`<p class="schema">
    <a href="#schema-${title}"><strong>${title}</strong></a
    >:${members.map((member, index) => html`${index === 0 ? '' : ','}${member}`)}
  </p>`;
}

/** Names of schemas within sentences lead to them. At the beginning of one, such a name can be a common word. */
export function withSchemaLinks({ source }: Html, schemas: Surroundings['schemas']): Html {
  const names = schemas.map(([name]) => name).join('|');
  if (names === '') return new Html(source);
  return new Html(
    source.replaceAll(
      new RegExp(String.raw`(?<=[a-z] )(${names})\b`, 'g'),
      (name) => html`<a href="#schema-${name}">${name}</a>`.source,
    ),
  );
}

function failuresSection(endpoint: Endpoint, { common, remedies }: Surroundings): Html {
  const failures = failuresOf(endpoint);
  if (failures.length === 0) return html``;
  const isCommon = ({ number }: Failure) => common.some((failure) => failure.number === number);
  const own = failures.filter((failure) => !isCommon(failure));
  return html`<h4>Failures</h4>
    ${failuresTable(endpoint.operationId, own, remedies)}
    ${
      common.length > 0 &&
      html`<p class="note">And <a href="#common-failures">those of every operation</a>.</p>`
    }`;
}

/** Content below a title that opens it, or nothing if there is none. */
function details(title: string, content: Html): Html {
  if (content.source === '') return content;
  return html`<details>
    <summary>${title}</summary>
    ${content}
  </details>`;
}
