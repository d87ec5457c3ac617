import { isUtf8 } from 'node:buffer';
import { EXIT, InputError } from '../command-error.js';
import type { Column } from '../resources.js';

/** What programs write between fields instead of commas. */
const SEPARATORS = { ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const;

type Separator = keyof typeof SEPARATORS;

const SHOWN = 40;

const LIST = new Intl.ListFormat('en');

/** Columns by what a file calls them. `undefined`: the column is ignored. */
export type ColumnNames = ReadonlyMap<string, string | undefined>;

export function columnsText(columns: readonly Column[]): string {
  const namesOf = (isOptional: boolean) =>
    LIST.format(columns.filter((one) => one.isOptional === isOptional).map(({ name }) => name));
  const [required, optional] = [namesOf(false), namesOf(true)];
  return optional === '' ? required : `${required}, and may have ${optional}`;
}

/** The column of each field of a header line; `undefined` if it is ignored. */
export function columnsOf(
  name: string,
  fields: readonly string[],
  source: Buffer,
  columns: readonly Column[],
  names: ColumnNames,
): readonly (Column | undefined)[] {
  const fault = headerFault(fields, source, columns, names);
  if (fault !== undefined) throw headerError(name, fault, columns);
  return fields.map((field) => columns.find((column) => column.name === nameOf(field, names)));
}

function nameOf(field: string, names: ColumnNames): string | undefined {
  return names.has(field) ? names.get(field) : field;
}

function headerFault(
  fields: readonly string[],
  source: Buffer,
  columns: readonly Column[],
  names: ColumnNames,
): string | undefined {
  if (!isUtf8(source)) return 'it is not UTF-8';
  const unknown = fields.find((field) => !isKnown(field, columns, names));
  if (unknown !== undefined) return `there is no column ${JSON.stringify(unknown.slice(0, SHOWN))}`;
  const absent = [...names.keys()].find((name) => !fields.includes(name));
  if (absent !== undefined) return `the column ${JSON.stringify(absent)} of --map is missing`;
  const found = fields.flatMap((field) => nameOf(field, names) ?? []);
  const twice = found.find((name, at) => found.indexOf(name) < at);
  if (twice !== undefined) return `the column ${twice} appears twice`;
  const missing = columns.find(({ name, isOptional }) => !isOptional && !found.includes(name));
  return missing && `the column ${missing.name} is missing`;
}

export function headerError(name: string, fault: string, columns: readonly Column[]): InputError {
  return new InputError(
    EXIT.usage,
    `${name}:1: ${fault}; the first line must have ${columnsText(columns)}, in any order and in UTF-8; --map renames or ignores columns`,
  );
}

function isKnown(field: string, columns: readonly Column[], names: ColumnNames): boolean {
  return names.has(field) || columns.some(({ name }) => name === field);
}

/** What stands between the columns of a header line that begins a file, unless it is a comma. */
export function separatorOf(
  beginning: Buffer,
  columns: readonly Column[],
  names: ColumnNames,
): Separator | undefined {
  const [line = ''] = new TextDecoder()
    .decode(beginning)
    .replace(/^[\r\n]+/, '')
    .split(/[\r\n]/);
  const isBy = (separator: string) => {
    const fields = line.split(separator).map((field) => field.trim().replaceAll('"', ''));
    return fields.length > 1 && fields.some((field) => isKnown(field, columns, names));
  };
  if (isBy(',')) return undefined;
  return (Object.keys(SEPARATORS) as Separator[]).find(isBy);
}

export function pluralOf(separator: Separator): string {
  return SEPARATORS[separator];
}
