import { parseArgs } from 'node:util';
import { InvalidArgumentError, Option } from 'commander';
import type { ColumnNames } from './csv/csv-header.js';
import type { Column, Filter } from './resources.js';

/** The options of the commands that have filters, and of every command. */
const OWN = new Set([
  'accept-gap',
  'after',
  'escape-formulas',
  'feed',
  'follow',
  'format',
  'help',
  'json',
  'output',
  'overwrite',
  'resource',
  'version',
]);

/** What other options depend on, so it is looked for before all else. Commander rejects a name that is unknown. */
export function chosenIn<T extends { readonly name: string }>(
  args: readonly string[],
  option: 'resource' | 'feed',
  choices: readonly T[],
  byDefault: T,
): T {
  const { values } = parseArgs({
    args: [...args],
    options: { [option]: { type: 'string' } },
    strict: false,
  });
  return choices.find(({ name }) => name === values[option]) ?? byDefault;
}

/** `shelf-id` for the query parameter `shelfId`, and `filter-format` where `format` is an option of the command. */
export function optionOf(parameter: string): string {
  const option = parameter.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  // Commander takes `--no-` for a negation.
  return OWN.has(option) || option.startsWith('no-') ? `filter-${option}` : option;
}

export function filterOption(
  { name, type, description }: Filter,
  filters: URLSearchParams,
): Option {
  const [sentence = ''] = description.split(/\.(?: |$)/);
  const help = sentence.charAt(0).toLowerCase() + sentence.slice(1);
  return new Option(`--${optionOf(name)} <${type}>`, help).argParser((value) =>
    filters.set(name, value),
  );
}

/** Adds `theirs=name` to the names of columns. Without a name, the column is ignored. Their name may have an equals sign. */
export function columnNames(columns: readonly Column[]) {
  return (text: string, names: ColumnNames = new Map()): ColumnNames => {
    const at = text.lastIndexOf('=');
    const name = text.slice(at + 1);
    if (at > 0 && (name === '' || columns.some((column) => column.name === name))) {
      return new Map([...names, [text.slice(0, at), name || undefined]]);
    }
    const known = columns.map((column) => column.name).join();
    throw new InvalidArgumentError(`It must be THEIRS=NAME with a NAME of ${known}, or THEIRS=.`);
  };
}

/** What stands between the columns of a CSV file. */
export function separator(text: string): string {
  if (text === 'tab') return '\t';
  if (/^[^"\r\n]$/.test(text)) return text;
  throw new InvalidArgumentError('It must be one character, such as ";", or tab.');
}

export function concurrency(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 16) return number;
  throw new InvalidArgumentError('It must be an integer, 1 to 16.');
}

export function int64(text: string): bigint {
  const number = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  if (number !== undefined && BigInt.asIntN(64, number) === number) return number;
  throw new InvalidArgumentError('It must be a 64-bit integer.');
}
