import { KEYWORDS } from './names.js';
import { FILTERS, TYPES } from './property-types.js';

/* Properties as they are written on the command line, such as `due:date` or `note:text?`. */

/** The key, the parameters of each list, and the columns that each table of PostgreSQL has. */
const RESERVED =
  'id after afterValue count expand ids limit sort cmax cmin ctid tableoid xmax xmin'.split(' ');

/** PostgreSQL cuts names after 63 characters. The longest is the index `…_sort_idx`. */
const MAX_NAMES = 50;

const WRITTEN = /^([^:]*):([^()?]*)(?:\(([^()]*)\))?(\?)?$/;

/** `text` is the only one with and without parameters. */
export const FORMS = ['text', ...Object.values(TYPES).map(({ form }) => form)];

/**
 * The properties that the words declare, and a line for each mistake.
 *
 * @param table its name
 */
export function parseProperties(words, table) {
  const properties = [];
  const mistakes = [];
  for (const word of words) {
    const [, name, type, list, mark] = WRITTEN.exec(word) ?? [];
    const shown = JSON.stringify(word);
    if (name === undefined) {
      mistakes.push(`${shown} is no property: write its name and its type, such as "due:date"`);
      continue;
    }
    const property = {
      name,
      type,
      parameters: list === undefined ? [] : list.split(',').map((each) => each.trim()),
      isOptional: mark !== undefined,
      column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      words: name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    };
    const whys = [
      ...mistakesInName(property, table),
      ...mistakesInType(property),
      ...mistakesBeside(properties, property),
    ];
    mistakes.push(...whys.map((why) => `${shown}: ${why}`));
    properties.push(property);
  }
  return { properties, mistakes };
}

function* mistakesInName({ name, column }, table) {
  if (!/^[a-z][a-zA-Z\d]*$/.test(name)) {
    yield 'its name must have letters and digits only, the first in lower case, such as dueOn';
  }
  if (KEYWORDS.includes(name)) yield `${name} is a keyword`;
  if (RESERVED.includes(name) || name in {}) yield `the name ${name} is reserved`;
  if (`${table}_${column}`.length > MAX_NAMES) {
    yield `its name and ${table} have more than ${MAX_NAMES - 1} characters together`;
  }
}

function* mistakesInType({ type, parameters }) {
  if (!Object.hasOwn(TYPES, type)) {
    yield `there is no type ${type}; the types are ${FORMS.join(', ')}`;
    return;
  }
  const { form, takes = 'no parameters', accepts = () => parameters.length === 0 } = TYPES[type];
  if (!accepts(parameters)) yield `${type} takes ${takes}, as in ${form}`;
}

/** Lists have the parameter `dueFrom` for `due`, so no other property may be called so. */
function* mistakesBeside(others, property) {
  const names = Object.keys(parametersOf(property));
  for (const other of others) {
    if (other.name === property.name) {
      yield `there is another property ${other.name}`;
      return;
    }
    const taken = Object.keys(parametersOf(other)).find((name) => names.includes(name));
    if (taken !== undefined) yield `lists have the parameter ${taken} for ${other.name}`;
  }
}

/** The parameters of lists for a property, with the functions that declare them. */
export function parametersOf(property) {
  return filterOf(property).parameters(property.name);
}

export function filterOf(property) {
  const { filter = () => 'none' } = TYPES[property.type] ?? {};
  return FILTERS[filter(property)];
}
