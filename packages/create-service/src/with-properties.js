import { inExamples, inIdentity, inTest } from './property-contents.js';
import { filterOf } from './properties.js';
import {
  inController,
  inDto,
  inEntity,
  inMigration,
  inRecordMigration,
  inRepository,
} from './property-sources.js';
import { TYPES } from './property-types.js';

/* The properties of a resource in its files, in place of the properties of the template. */

/** By the name of the file in the template: the places, and what is put there. */
const CHANGES = [
  [/item\.entity\.ts$/, inEntity],
  [/create-sample-items\.ts$/, inMigration],
  [/create-sample-item-changes\.ts$/, inRecordMigration],
  [/item\.dto\.ts$/, inDto],
  [/items\.repository\.ts$/, inRepository],
  [/items\.controller\.ts$/, inController],
  [/items\.examples\.ts$/, inExamples],
  [/items\.e2e\.test\.ts$/, inTest],
  [/identity\.ts$/, inIdentity],
];

/**
 * @param file its name in the template
 * @param text with the names of the resource
 * @param resource `one` and `many`: these names
 */
export function withProperties(file, text, { one, many }, properties) {
  const [, partsOf] = CHANGES.find(([pattern]) => pattern.test(file)) ?? [];
  if (partsOf === undefined || properties.length === 0) return text;
  const names = {
    table: many.replaceAll('-', '_'),
    path: `/${many}`,
    one: one.replaceAll('-', ' '),
    many: many.replaceAll('-', ' '),
    filters: `${one.replaceAll('-', '_').toUpperCase()}_FILTERS`,
  };
  return partsOf(properties.map(withType), names).reduce((changed, [place, part]) => {
    if (!place.test(changed)) throw new Error(`the template of ${file} lacks ${place}`);
    return changed.replace(place, (found) => (typeof part === 'function' ? part(found) : part));
  }, text);
}

function withType(property) {
  const type = TYPES[property.type];
  return { ...property, ...type, filter: filterOf(property), values: type.values(property) };
}
