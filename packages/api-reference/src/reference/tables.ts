import { html } from '../html.js';
import type { Html } from '../html.js';
import { inlineMarkdown, markdown } from '../markdown.js';
import { valueText } from './document.js';
import type { Answer, Failure, Schema } from './document.js';

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export type FailureRow = Pick<Failure, 'number' | 'meaning'>;

/** What to do about failures, by their numbers. */
export type Remedies = ReadonlyMap<number, string>;

/** @param owner the id of the heading that the fields belong to: each row gets an id that begins with it */
export function fieldsTable(owner: string, fields: readonly Field[]): Html {
  const rows = fields.map(
    ({ name, required, schema }) =>
      html`<tr id="${owner}.${name}">
        <th scope="row"><code>${name}</code></th>
        <td>
          ${[schema.type ?? []].flat().join(' or ')}${schema.format ? ` (${schema.format})` : ''}
        </td>
        <td class="${required ? 'required' : 'optional'}">${required ? 'required' : 'optional'}</td>
        <td>${markdown(schema.description ?? '')}${limitsOf(schema)}</td>
      </tr>`,
  );
  return table('fields', ['Name', 'Type', 'Required', 'Rule'], rows);
}

export function membersTable(owner: string, { properties = {}, required = [] }: Schema): Html {
  return fieldsTable(
    owner,
    Object.entries(properties).map(([name, schema]) => ({
      name,
      required: required.includes(name),
      schema,
    })),
  );
}

function limitsOf(schema: Schema): Html {
  const { minimum, maximum, description = '' } = schema;
  const value: unknown = schema.default;
  const limits = [
    ['at least', minimum],
    ['at most', maximum],
    ['default', value],
  ] as const;
  return html`${limits.flatMap(([word, limit]) =>
    limit === undefined || description.includes(valueText(limit))
      ? []
      : [html`<div>${word} <code>${valueText(limit)}</code></div>`],
  )}`;
}

export function failuresTable(
  owner: string,
  failures: readonly FailureRow[],
  remedies: Remedies,
): Html {
  const rows = failures.map(
    ({ number, meaning }) =>
      html`<tr id="${owner}.${String(number)}">
        <th scope="row"><code>${String(number)}</code></th>
        <td>${meaning}</td>
        <td>${inlineMarkdown(remedies.get(Number(number)) ?? '')}</td>
      </tr> `,
  );
  return table('failures', ['Error', 'Meaning', 'What to do'], rows);
}

/** The header fields of the answers of an operation, each once. */
export function headersTable(owner: string, responses: Readonly<Record<string, Answer>>): Html {
  const headers = new Map<string, { statuses: string[]; description: string }>();
  for (const [status, answer] of Object.entries(responses)) {
    for (const [name, { description = '' }] of Object.entries(answer.headers ?? {})) {
      const header = headers.get(name) ?? { statuses: [], description };
      header.statuses.push(status);
      headers.set(name, header);
    }
  }
  const rows = [...headers].map(
    ([name, { statuses, description }]) =>
      // A request can have a field of the same name.
      html`<tr id="${owner}.response.${name}">
        <th scope="row"><code>${name}</code></th>
        <td>
          ${statuses.length === Object.keys(responses).length ? 'every response' : statuses.join(', ')}
        </td>
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
