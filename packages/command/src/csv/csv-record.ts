import { ExactNumber, stringifyExactJson } from '@resource-service/framework/exact-json';
import type { TextConversion } from './formulas.js';
import type { Column, ColumnType } from '../resources.js';

/* CSV (RFC 4180) with a header line. As in PostgreSQL's COPY, an empty field without quotes is absent, and "" is the
   empty text. */

export function csvHeader(columns: readonly Column[]): string {
  return `${columns.map(({ name }) => name).join()}\r\n`;
}

/** @param record from `parseExactJson` */
export function csvRecord(
  columns: readonly Column[],
  record: Readonly<Record<string, unknown>>,
  convertText?: TextConversion,
): string {
  let fields = '';
  for (const { name, type } of columns) fields += `,${fieldOf(type, record[name], convertText)}`;
  return `${fields.slice(1)}\r\n`;
}

/** Quotes all text, because then no character needs a rule. */
function fieldOf(type: ColumnType, value: unknown, convertText?: TextConversion): string {
  if (value === undefined || value === null) return '';
  if (type === 'text' && typeof value === 'string') return quoted(convertText?.(value) ?? value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof ExactNumber) return value.toString();
  return quoted(stringifyExactJson(value));
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
