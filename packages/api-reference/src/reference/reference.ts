import { EXAMPLES } from '../../public/code-samples/request.js';
import type { ApiError, ReferenceOptions } from '../options.js';
import { html } from '../html.js';
import type { Html } from '../html.js';
import { markdown } from '../markdown.js';
import { commonParts } from './common-parts.js';
import type { CommonParts } from './common-parts.js';
import { tokenDialog } from './dialog.js';
import { errorsOf, wholeSchema } from './document.js';
import type { ApiDocument, ErrorExample } from './document.js';
import { operationSection, withSchemaLinks } from './operation.js';
import { referenceSidebar } from './sidebar.js';
import type { Section } from './sidebar.js';
import { definedProperties, errorsTable, headersTable, parametersTable } from './tables.js';
import type { ErrorRow, Remedies } from './tables.js';
import { responseTemplate } from './try-form.js';

type Schemas = ApiDocument['schemas'];

/** Writes what an OpenAPI document says as HTML: an introduction, every operation, and the schemas. */
export function renderReference(
  { info, base, endpoints, groups, schemas }: ApiDocument,
  options: ReferenceOptions,
): Html {
  const { version, errors = [], issuer, client, extension = '' } = options;
  const swaggerUi = `docs/swagger-ui${extension}`;
  const remedies = new Map(errors.map(({ number, remedy }) => [number, remedy]));
  const listed = endpoints.flatMap((endpoint) => errorsOf(endpoint));
  const common = commonParts(endpoints);
  const { tagline, sections } = introductionOf(info.description ?? '', schemas);
  const general = [
    ...headersSection(common),
    ...errorsSection('common-errors', 'Errors of every operation', common.errors, remedies),
    ...errorsSection('other-errors', 'Other errors', unlisted(errors, listed), remedies),
  ];
  const definitions = schemaSections(schemas);
  const surroundings = {
    endpoints,
    schemas,
    common,
    remedies,
    ...(client && { client }),
    ...(base !== undefined && { base }),
  };
  const operations = groups.map(
    ({ name, title, description, endpoints: ofTag }) =>
      html`<section class="group">
        <h2 id="tag-${name}">${title}</h2>
        ${markdown(description)}
        ${ofTag.map((endpoint) => operationSection(endpoint, surroundings))}
      </section>`,
  );
  return html`<div class="api" ${client && html`data-client="${JSON.stringify(client)}"`}>
    ${referenceSidebar({ sections, groups, general, definitions, canSignIn: issuer !== undefined })}
    <main id="main">
      <section class="intro">
        <h1>${info.title}</h1>
        <div class="tagline">${tagline}</div>
        <p class="versions">Interface ${info.version}${version && ` · Service ${version}`}</p>
        <p class="base">Base URL <code data-fill="base">${base ?? EXAMPLES.base}</code></p>
        <noscript><p>Sending requests from this page needs JavaScript.</p></noscript>
        <div class="topics">${sections.map((section) => textSection(section))}</div>
      </section>
      ${operations} ${general.map((section) => textSection(section))} ${schemasSection(definitions)}
      <p class="note">
        The operations in <a href="${swaggerUi}">Swagger UI</a>, which shows no limits beyond 2^53.
      </p>
    </main>
    ${tokenDialog(endpoints, options)} ${responseTemplate(issuer !== undefined)}
  </div>`;
}

/** What the document says of itself: a line, then sections below headings. */
function introductionOf(description: string, schemas: Schemas) {
  const [first = '', ...others] = description.split(/^## /m);
  const sections = others.map((text) => {
    const [title = ''] = text.split('\n', 1);
    return {
      id: title.toLowerCase().replaceAll(/\W+/g, '-'),
      title,
      content: withSchemaLinks(markdown(text.slice(title.length)), schemas),
    };
  });
  return { tagline: markdown(first), sections };
}

/** The errors that are in no operation, such as for paths that do not exist. */
function unlisted(errors: readonly ApiError[], listed: readonly ErrorExample[]): ErrorRow[] {
  const numbers = new Set(listed.map(({ number }) => Number(number)));
  return errors
    .filter(({ number }) => !numbers.has(number))
    .map(({ number, message }) => ({ number: BigInt(number), meaning: message }));
}

function headersSection({ parameters, headers }: CommonParts): Section[] {
  if (parameters.length + headers.length === 0) return [];
  const id = 'common-headers';
  const content = html`${parameters.length > 0 && html`<p>In requests:</p>`}
  ${parametersTable(id, parameters)} ${headers.length > 0 && html`<p>In responses:</p>`}
  ${headersTable(id, headers)}`;
  return [{ id, title: 'Header fields of every operation', content }];
}

function errorsSection(
  id: string,
  title: string,
  errors: readonly ErrorRow[],
  remedies: Remedies,
): Section[] {
  if (errors.length === 0) return [];
  return [{ id, title, content: errorsTable(id, errors, remedies) }];
}

function schemaSections(schemas: Schemas): Section[] {
  return schemas.map(([title, schema]) => {
    const id = `schema-${title}`;
    const content = html`${markdown(schema.description ?? '')}
    ${definedProperties(id, wholeSchema(schema))}
    ${schema.additionalProperties ? html`<p class="note">Later versions may add fields.</p>` : html``}`;
    return { id, title, content };
  });
}

function schemasSection(definitions: readonly Section[]): Html {
  if (definitions.length === 0) return html``;
  return html`<section class="text">
    <h2 id="schemas">Schemas</h2>
    ${definitions.map(
      ({ id, title, content }) =>
        html`<h3 id="${id}">${title}</h3>
          ${content}`,
    )}
  </section>`;
}

function textSection({ id, title, content }: Section): Html {
  return html`<section class="text">
    <h2 id="${id}">${title}</h2>
    ${content}
  </section>`;
}
