import { html } from './html.js';
import type { Html } from './html.js';
import { failuresOf, firstContent, readDocument, successesOf } from './reference-document.js';
import type { Answer, Endpoint, Failure, Schema } from './reference-document.js';
import { samplesSection } from './reference-samples.js';
import { failuresTable, fieldsTable, headersTable } from './reference-tables.js';
import type { Field } from './reference-tables.js';
import { inlineMarkdown, markdown } from './markdown.js';

/** Writes what an OpenAPI document says as HTML: an introduction, then every operation. */
export function renderReference(text: string): Html {
  const { info, endpoints } = readDocument(text);
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
        ${successesOf(endpoint).map(([status, answer]) => answerSection(status, answer, endpoints))}
        ${failuresSection(failuresOf(endpoint), common)}
        ${details('Response headers', headersTable(endpoint.responses))}
      </div>
      ${samplesSection(endpoint)}
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

function membersOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    schema,
  }));
}

function failuresSection(failures: readonly Failure[], common: readonly Failure[]): Html {
  const isCommon = ({ number }: Failure) => common.some((failure) => failure.number === number);
  const own = failures.filter((failure) => !isCommon(failure));
  if (failures.length === 0) return html``;
  return html`<h4>Failures</h4>
    ${failuresTable(own)} ${details('Failures of every operation', failuresTable(common))}`;
}

/** Content below a title that opens it, or nothing if there is none. */
function details(title: string, content: Html): Html {
  if (content.source === '') return content;
  return html`<details>
    <summary>${title}</summary>
    ${content}
  </details>`;
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
