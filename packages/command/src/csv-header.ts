import { isUtf8 } from 'node:buffer';
import { EXIT, InputError } from './command-error.js';
import type { Column } from './resources.js';

/** What programs write between fields instead of commas. */
const SEPARATORS = { ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const;

/** How much of a wrong name is shown. */
const SHOWN = 40;

/**
 * What is wrong with the header line, if anything.
 *
 * @param source the bytes that the fields are from
 * @param columns that are known
 */
export function headerFault(
  fields: readonly string[],
  source: Buffer,
  columns: readonly Column[],
): string | undefined {
  if (!isUtf8(source)) return 'it is not UTF-8';
  const isKnown = (field: string) => columns.some(({ name }) => name === field);
  const unknown = fields.find((field) => !isKnown(field));
  if (unknown !== undefined) {
    const separator = separatorOf(source, isKnown);
    if (separator !== undefined) return `its columns are separated by ${separator}, not by commas`;
    return `there is no column ${JSON.stringify(unknown.slice(0, SHOWN))}`;
  }
  const twice = fields.find((field, at) => fields.indexOf(field) < at);
  if (twice !== undefined) return `the column ${twice} appears twice`;
  return fields.includes('id') ? undefined : 'the column id is missing';
}

export function headerError(name: string, fault: string, columns: readonly Column[]): InputError {
  const names = columns.map((column) => column.name).join();
  return new InputError(
    EXIT.usage,
    `${name}:1: ${fault}; the first line must be ${names}, in any order and in UTF-8`,
  );
}

function separatorOf(source: Buffer, isKnown: (field: string) => boolean): string | undefined {
  const [line = ''] = new TextDecoder()
    .decode(source)
    .trimStart()
    .split(/[\r\n]/);
  for (const [separator, plural] of Object.entries(SEPARATORS)) {
    const names = line.split(separator).map((name) => name.trim().replaceAll('"', ''));
    if (names.length > 1 && names.some(isKnown)) return plural;
  }
  return undefined;
}
