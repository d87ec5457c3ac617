import { errorsOf } from './document.js';
import type { Endpoint, ErrorExample, Parameter } from './document.js';
import { headerRows } from './tables.js';
import type { HeaderRow } from './tables.js';

/** What every operation has. It stands once, and in none of them. */
export interface CommonParts {
  readonly errors: readonly ErrorExample[];
  /** The header fields of requests. */
  readonly parameters: readonly Parameter[];
  /** The header fields of responses. */
  readonly headers: readonly HeaderRow[];
}

/** What all operations have. Of a single one, nothing: it is read as a whole. */
export function commonParts(endpoints: readonly Endpoint[]): CommonParts {
  return {
    errors: shared(
      endpoints.map((endpoint) => errorsOf(endpoint)),
      ({ number }) => String(number),
    ),
    parameters: shared(
      endpoints.map(({ parameters = [] }) => parameters.filter((one) => one.in === 'header')),
      keyOf,
    ),
    headers: shared(
      endpoints.map(({ responses }) => headerRows(responses)),
      keyOf,
    ),
  };
}

/** What is in each of several lists. */
function shared<Item>(
  lists: readonly (readonly Item[])[],
  keyOfItem: (item: Item) => string,
): Item[] {
  const [first = new Map<string, Item>(), ...others] = lists.map(
    (items) => new Map(items.map((item) => [keyOfItem(item), item] as const)),
  );
  if (others.length === 0) return [];
  return [...first].flatMap(([key, item]) => (others.every((map) => map.has(key)) ? [item] : []));
}

/** Whether a list has the same header field, of which it says the same. */
export function isIn(
  list: readonly (Parameter | HeaderRow)[],
  field: Parameter | HeaderRow,
): boolean {
  return list.some((one) => keyOf(one) === keyOf(field));
}

function keyOf({ name, ...said }: Parameter | HeaderRow): string {
  const { description = '' } = said;
  return [name, 'place' in said ? said.place : '', description].join('\n');
}
