import { html } from '../html.js';
import type { Html } from '../html.js';
import { inlineMarkdown, markdown } from '../markdown.js';
import { parameterExample, valueText, wholeSchema } from './document.js';
import type { ErrorExample, Parameter, ResponseObject, Schema } from './document.js';

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
  /** The id of the row that defines it, if it is defined elsewhere. */
  readonly definition?: string | undefined;
}

export type ErrorRow = Pick<ErrorExample, 'number' | 'meaning'>;

/** A header field of the responses of an operation. */
export interface HeaderRow {
  readonly name: string;
  /** With which responses it comes. */
  readonly place: string;
  readonly description: string;
}

/** What to do about errors, by their numbers. */
export type Remedies = ReadonlyMap<number, string>;

/** @param owner the beginning of the ids of the rows: the id of the heading that they belong to. Without it, they have none */
function fieldsTable(owner: string | undefined, fields: readonly Field[]): Html {
  const rows = fields.map(
    ({ name, required, schema, example, definition }) =>
      html`<tr ${owner !== undefined && html`id="${owner}.${name}"`}>
        <th scope="row">
          ${definition === undefined ? html`<code>${name}</code>` : html`<a href="#${definition}"><code>${name}</code></a>`}
        </th>
        <td>${typeOf(schema)}</td>
        <td class="${required ? 'required' : 'optional'}">${required ? 'required' : 'optional'}</td>
        <td>
          ${markdown(schema.description ?? '')}${limitsOf(schema)}${exampleOf(example)}${propertiesWithin(schema)}
        </td>
      </tr>`,
  );
  return table('fields', ['Name', 'Type', 'Required', 'Constraints'], rows);
}

/** @param owner the id of the heading that they belong to: the ids of the rows begin with it */
export function parametersTable(owner: string, parameters: readonly Parameter[]): Html {
  const fields = parameters.map((parameter) => {
    const { name, required = false, description = '', schema } = parameter;
    const example = parameterExample(parameter);
    return { name, required, schema: { ...wholeSchema(schema ?? {}), description }, example };
  });
  return fieldsTable(owner, fields);
}

/** The properties of a schema where it is defined. */
export function definedProperties(owner: string, schema: Schema): Html {
  return fieldsTable(owner, propertiesOf(schema));
}

/**
 * The properties of a schema where it is used, with examples. Each leads to its definition.
 *
 * @param owner the beginning of the ids of the rows, if they have any
 */
export function usedProperties(owner: string | undefined, schema: Schema): Html {
  const { title } = schema;
  const fields = propertiesOf(schema).map(({ name, required, schema: property }) => ({
    name,
    required,
    schema: property,
    example: property.example,
    definition: title && `schema-${title}.${name}`,
  }));
  return fieldsTable(owner, fields);
}

function propertiesOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    schema: wholeSchema(schema),
  }));
}

function typeOf({ type = [], format, title, items, properties }: Schema): Html {
  if (items !== undefined) return html`array of ${typeOf(wholeSchema(items))}`;
  const types = [type].flat().join(' or ');
  if (title !== undefined && (properties !== undefined || types === '')) {
    return html`<a href="#schema-${title}">${title}</a>`;
  }
  return html`${types}${format ? ` (${format})` : ''}`;
}

/** What is in an object within an object, folded. */
function propertiesWithin({ items, ...schema }: Schema): Html {
  if (items !== undefined) return propertiesWithin(wholeSchema(items));
  const properties = usedProperties(undefined, schema);
  if (properties.source === '') return properties;
  return html`<details>
    <summary>Fields${schema.title && ` of ${schema.title}`}</summary>
    ${properties}
  </details>`;
}

function limitsOf(schema: Schema): Html {
  const { description = '', enum: values } = schema;
  const value: unknown = schema.default;
  const limits = [
    ['at least', schema.minimum],
    ['at most', schema.maximum],
    ['length at least', schema.minLength ?? schema.minItems],
    ['length at most', schema.maxLength ?? schema.maxItems],
    ['default', value],
  ] as const;
  const said = new Set(description.match(/-?\d+(?:\.\d+)?|\w+/g));
  return html`${
    values &&
    html`<div>
      one of
      ${values.map((one, index) => html`${index === 0 ? '' : ', '}<code>${valueText(one)}</code>`)}
    </div>`
  }${limits.flatMap(([word, limit]) =>
    limit === undefined || said.has(valueText(limit))
      ? []
      : [html`<div>${word} <code>${valueText(limit)}</code></div>`],
  )}`;
}

function exampleOf(example: unknown): Html {
  if (example === undefined) return html``;
  return html`<div>example <code>${valueText(example)}</code></div>`;
}

export function errorsTable(owner: string, errors: readonly ErrorRow[], remedies: Remedies): Html {
  const rows = errors.map(
    ({ number, meaning }) =>
      html`<tr id="${owner}.${String(number)}">
        <th scope="row"><code>${String(number)}</code></th>
        <td>${meaning}</td>
        <td>${inlineMarkdown(remedies.get(Number(number)) ?? '')}</td>
      </tr> `,
  );
  return table('errors', ['Error', 'Meaning', 'What to do'], rows);
}

/** The header fields of the responses of an operation, each once. */
export function headerRows(responses: Readonly<Record<string, ResponseObject>>): HeaderRow[] {
  const headers = new Map<string, { statuses: string[]; description: string }>();
  for (const [status, response] of Object.entries(responses)) {
    for (const [name, { description = '' }] of Object.entries(response.headers ?? {})) {
      const header = headers.get(name) ?? { statuses: [], description };
      header.statuses.push(status);
      headers.set(name, header);
    }
  }
  const all = Object.keys(responses).length;
  return [...headers].map(([name, { statuses, description }]) => ({
    name,
    place: statuses.length === all ? 'every response' : statuses.join(', '),
    description,
  }));
}

export function headersTable(owner: string, headers: readonly HeaderRow[]): Html {
  const rows = headers.map(
    ({ name, place, description }) =>
      // A request can have a field of the same name.
      html`<tr id="${owner}.response.${name}">
        <th scope="row"><code>${name}</code></th>
        <td>${place}</td>
        <td>${markdown(description)}</td>
      </tr>`,
  );
  return table('headers', ['Header', 'With', 'Meaning'], rows);
}

/** A table, or nothing if it has no rows. */
function table(kind: string, titles: readonly string[], rows: readonly Html[]): Html {
  if (rows.length === 0) return html``;
  return html`<table class="${kind}">
    <thead>
      <tr>
        ${titles.map((title) => html`<th>${title}</th> `)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}
