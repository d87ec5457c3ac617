import { html } from './html.js';
import type { Html } from './html.js';
import { markdown } from './markdown.js';
import type { Answer, Failure, Schema } from './reference-document.js';

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export function fieldsTable(fields: readonly Field[]): Html {
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
  return table('fields', ['Name', 'Type', 'Required', 'Rule'], rows);
}

function limitsOf({ minimum, maximum, description = '' }: Schema): Html {
  const limits = [
    ['at least', minimum],
    ['at most', maximum],
  ] as const;
  return html`${limits.flatMap(([word, limit]) =>
    limit === undefined || description.includes(String(limit))
      ? []
      : [html`<div>${word} <code>${String(limit)}</code></div>`],
  )}`;
}

export function failuresTable(failures: readonly Failure[]): Html {
  const rows = failures.map(
    ({ status, number, meaning }) =>
      html`<tr>
        <td>${status}</td>
        <td><code>${String(number)}</code></td>
        <td>${meaning}</td>
      </tr> `,
  );
  return table('failures', ['Status', 'Error', 'Meaning'], rows);
}

/** The header fields of answers, each once. */
export function headersTable(responses: Readonly<Record<string, Answer>>): Html {
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
      html`<tr>
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
