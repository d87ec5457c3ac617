import { Html, html } from '../html.js';
import { markdown } from '../markdown.js';
import { isIn } from './common-parts.js';
import type { CommonParts } from './common-parts.js';
import { errorsOf, mainContent, successesOf, wholeSchema } from './document.js';
import type { Endpoint, ErrorExample, Parameter, ResponseObject, Schema } from './document.js';
import { samplesSection } from './samples.js';
import type { SampleSurroundings } from './samples.js';
import {
  errorsTable,
  headerRows,
  headersTable,
  parametersTable,
  usedProperties,
} from './tables.js';
import type { Remedies } from './tables.js';
import { tryForm } from './try-form.js';

/** What the reference of an operation refers to. */
export interface Surroundings extends SampleSurroundings {
  readonly schemas: readonly (readonly [name: string, Schema])[];
  readonly common: CommonParts;
  readonly remedies: Remedies;
}

export function operationSection(endpoint: Endpoint, around: Surroundings): Html {
  const { operationId, method, path, summary, description = '' } = endpoint;
  const scopes = [endpoint['x-required-scope'] ?? []].flat();
  const { common } = around;
  const linked = (text: string) => withSchemaLinks(markdown(text), around.schemas);
  const headers = headerRows(endpoint.responses).filter((row) => !isIn(common.headers, row));
  return html`<article class="operation">
    <h3 id="${operationId}"><a href="#${operationId}">${summary}</a></h3>
    <p class="endpoint">
      <span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code>
      ${scopes.length > 0 && html`<span class="scope">Scope ${orOf(scopes)}</span>`}
    </p>
    ${tryForm(endpoint, around.endpoints)}
    <div class="reference">
      <div class="reference-text">
        ${linked(description)}
        ${parametersSection('Parameters', endpoint, (parameter) => parameter.in !== 'header')}
        ${bodySection(endpoint, linked)}
        ${parametersSection('Headers', endpoint, (parameter) => parameter.in === 'header' && !isIn(common.parameters, parameter))}
        ${successesOf(endpoint).map(([status, response]) => responseSection(status, response, around.endpoints, linked))}
        ${errorsSection(endpoint, around)}
        ${details('Response headers', headersTable(operationId, headers))}
        ${
          common.parameters.length + common.headers.length > 0 &&
          html`<p class="note"><a href="#common-headers">Header fields of every operation</a></p>`
        }
      </div>
      ${samplesSection(endpoint, around)}
    </div>
  </article>`;
}

/** Such as `a:read` or `a:write`. */
function orOf(scopes: readonly string[]): readonly Html[] {
  return scopes.map((scope, index) => html`${index > 0 && ' or '}<code>${scope}</code>`);
}

function parametersSection(
  title: string,
  { operationId, parameters = [] }: Endpoint,
  isShown: (parameter: Parameter) => boolean,
): Html {
  const shown = parameters.filter(isShown);
  if (shown.length === 0) return html``;
  return html`<h4>${title}</h4>
    ${parametersTable(operationId, shown)}`;
}

function bodySection({ operationId, requestBody }: Endpoint, linked: (text: string) => Html): Html {
  if (requestBody === undefined) return html``;
  const { schema } = mainContent(requestBody);
  const types = Object.keys(requestBody.content).toReversed().join(' or ');
  return html`<h4>Body <small>${types}</small></h4>
    ${linked(requestBody.description ?? '')} ${schemaInPlace(schema, `${operationId}.body`)}`;
}

function responseSection(
  status: string,
  response: ResponseObject,
  endpoints: readonly Endpoint[],
  linked: (text: string) => Html,
): Html {
  const { type, schema } = mainContent(response);
  const next = Object.values(response.links ?? {}).flatMap(({ operationId }) =>
    endpoints.filter((endpoint) => endpoint.operationId === operationId),
  );
  return html`<h4>
      Response <span class="status success">${status}</span> ${type && html`<small>${type}</small>`}
    </h4>
    ${linked(response.description ?? '')} ${schemaInPlace(schema)}
    ${next.map((endpoint) => html`<p class="note">Next: <a href="#${endpoint.operationId}">${endpoint.summary}</a></p>`)}`;
}

/**
 * A schema with its properties, where it is used.
 *
 * @param owner the beginning of the ids of the rows, if they have any
 */
function schemaInPlace(schema: Schema, owner?: string): Html {
  const { items, ...whole } = wholeSchema(schema);
  if (items !== undefined) {
    return html`<p>An array. Each item:</p>
      ${schemaInPlace(items, owner)}`;
  }
  const { title } = whole;
  const properties = usedProperties(owner, whole);
  if (title === undefined) return properties;
  return html`<div class="schema">
    <p>
      <a href="#schema-${title}"><strong>${title}</strong></a>
    </p>
    ${properties}
  </div>`;
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

function errorsSection(endpoint: Endpoint, { common, remedies }: Surroundings): Html {
  const errors = errorsOf(endpoint);
  if (errors.length === 0) return html``;
  const isCommon = ({ number }: ErrorExample) =>
    common.errors.some((error) => error.number === number);
  const own = errors.filter((error) => !isCommon(error));
  return html`<h4>Errors</h4>
    ${errorsTable(endpoint.operationId, own, remedies)}
    ${
      common.errors.length > 0 &&
      html`<p class="note">And <a href="#common-errors">the errors of every operation</a>.</p>`
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
