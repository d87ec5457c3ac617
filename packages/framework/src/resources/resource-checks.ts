import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { DataSource } from 'typeorm';
import { isExcluded, validatedPropertiesOf } from '../http/body/dto.pipe.js';
import { isFilter } from '../http/responses/page.js';
import { keyColumnOf } from './properties/dto-of.js';
import { EntityColumns } from './properties/entity-columns.js';
import { MAX_INT64 } from './properties/int64.js';
import { columnOf, isOnColumn } from './reads/used-filters.js';
import type { Expansions } from './reads/expansion.js';
import type { Filter } from './reads/page-query.js';
import { searchedProperty } from './reads/search-index.js';
import type { Search } from './reads/search-index.js';
import { ordersOf, parseSort, sortableOf } from './reads/sort.js';

export interface Declared {
  readonly entity: Type;
  readonly dto: Type;
  /** Whether the repository leaves the id to the database. */
  readonly isGenerated: boolean;
  readonly filters: Readonly<Record<string, Filter<never>>>;
  readonly expansions: Expansions;
  readonly search?: Search | undefined;
}

interface Checked extends Declared {
  readonly columns: EntityColumns;
  /** The validated properties of the DTO. */
  readonly shown: ReadonlySet<string>;
  readonly all: readonly Declared[];
}

const CHECKS: readonly ((checked: Checked) => Iterable<string>)[] = [
  keyMistakes,
  missingColumns,
  unclearProperties,
  shownRemovals,
  optionMistakes,
  inexactIntegers,
  sortMistakes,
  orderMistakes,
  filterMistakes,
  searchMistakes,
  expansionMistakes,
];

/** The mistakes in the classes of a resource. They need the metadata of the entities, but no connection. */
export function resourceMistakes(
  dataSource: DataSource,
  declared: Declared,
  all: readonly Declared[],
): readonly string[] {
  const mistakes: string[] = [];
  let columns: EntityColumns;
  try {
    columns = new EntityColumns(dataSource, declared.entity, 'id', mistakes);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  const checked = { ...declared, columns, shown: validatedPropertiesOf(declared.dto), all };
  return [...mistakes, ...CHECKS.flatMap((check) => Array.from(check(checked)))];
}

/** TypeORM allows it, but a change by one of the entities would not be recorded, or lack columns of the other. */
export function sharedTables({ entityMetadatas }: DataSource): readonly string[] {
  const entities = new Map<string, string>();
  return entityMetadatas.flatMap(({ name, tablePath, tableType }) => {
    if (tableType !== 'regular') return [];
    const other = entities.get(tablePath);
    entities.set(tablePath, name);
    return other === undefined ? [] : `${name}: ${other} has the table ${tablePath}, too`;
  });
}

/** In metrics, their figures would be one. */
export function sharedNames(
  declared: readonly { readonly name: string; readonly entity: Type }[],
): readonly string[] {
  const entities = new Map<string, string>();
  return declared.flatMap(({ name, entity }) => {
    const other = entities.get(name);
    entities.set(name, entity.name);
    if (other === undefined) return [];
    return `${entity.name}: another repository, of ${other}, has the name ${JSON.stringify(name)}, too`;
  });
}

function* keyMistakes({ columns, entity, isGenerated }: Checked): Generator<string> {
  const { key, keyType } = columns;
  const name = `${entity.name}.${key.property}`;
  if (columns.isGenerated !== isGenerated) {
    yield columns.isGenerated
      ? `${name}: the database makes it, so the repository must extend GeneratedIdRepository(…)`
      : `${name}: clients choose it, so the repository must extend ResourceRepository(…)`;
  } else if (!isGenerated && key.type !== 'bigint') {
    yield `${name}: only a bigint can be chosen by clients`;
  }
  if (typeof key.fromDriver('1') !== typeof keyType.least) {
    yield `${name}: the column needs the options INT64_COLUMN`;
  }
}

function* missingColumns({ columns, entity, dto, shown }: Checked): Generator<string> {
  for (const property of shown) {
    if (columns.all.some((column) => column.property === property)) continue;
    yield `${dto.name}.${property} has no column in ${entity.name}`;
  }
}

/**
 * A column is either validated, thus part of the interface, or internal, by `@Exclude()`. With neither, the interface would silently
 * lack it; with both, responses would show what should be hidden.
 */
function* unclearProperties({ columns, entity, shown }: Checked): Generator<string> {
  const validated = new Set([...validatedPropertiesOf(entity), ...shown]);
  for (const { property } of columns.all) {
    const isInternal = isExcluded(entity, property);
    if (validated.has(property) !== isInternal) continue;
    yield isInternal
      ? `${entity.name}.${property} has @Exclude(), and the decorator of a property: remove one of them`
      : `${entity.name}.${property} has a column, but no decorator of a property: add one, such as @TextField(), or @Exclude() of class-transformer if the column is internal`;
  }
}

/** Responses have no removed rows, so they would never have this property. */
function* shownRemovals({ columns: { removedAt }, entity }: Checked): Generator<string> {
  if (removedAt === undefined || !validatedPropertiesOf(entity).has(removedAt.property)) return;
  yield `${entity.name}.${removedAt.property} has @DeleteDateColumn(), and no response has a removed row: replace the decorator of its property with @Exclude() of class-transformer`;
}

function* optionMistakes({ columns, dto, shown }: Checked): Generator<string> {
  const validations = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  for (const { property, isNullable } of columns.given) {
    const isOptional = validations.some(
      ({ propertyName, type }) => propertyName === property && type === 'conditionalValidation',
    );
    if (!shown.has(property) || isOptional === isNullable) continue;
    yield `${dto.name}.${property} must be optional if and only if its column is nullable`;
  }
}

/** The driver reads a bigint as text. */
function* inexactIntegers({ columns, entity, shown }: Checked): Generator<string> {
  for (const { property, type, fromDriver } of columns.all) {
    if (property === columns.key.property || type !== 'bigint') continue;
    // An internal column may be read as text, if its class says so.
    if (!shown.has(property) && declaredType(entity, property) !== BigInt) continue;
    if (fromDriver(String(MAX_INT64)) === MAX_INT64) continue;
    yield `${entity.name}.${property}: a column of type bigint needs the options INT64_COLUMN, as in @Column(INT64_COLUMN)`;
  }
}

function declaredType({ prototype }: Type, property: string): unknown {
  return Reflect.getMetadata('design:type', prototype as object, property);
}

/** A `Link` has the value of the sorted column, so it must be short and no secret. */
function* sortMistakes({ columns, entity, dto, shown }: Checked): Generator<string> {
  for (const property of sortableOf(entity)) {
    if (!shown.has(property)) {
      yield `${entity.name}.${property} has @Sortable(), but ${dto.name} lacks it: each Link would have its values`;
      continue;
    }
    const type = unorderedType(columns, property);
    if (type === undefined) continue;
    yield `${entity.name}.${property}: lists cannot be sorted by the type ${type}`;
  }
}

/** All types of short values have an order. */
function unorderedType(columns: EntityColumns, property: string): string | undefined {
  const column = columns.all.find((each) => each.property === property);
  if (column === undefined || column.type === 'text' || column.bytes === undefined)
    return undefined;
  return column.type === 'numeric' ? 'numeric without a precision' : column.type;
}

function* orderMistakes({ columns, entity, dto, shown }: Checked): Generator<string> {
  for (const order of ordersOf(entity)) {
    const name = `${entity.name}: the order ${order.join()}`;
    const properties = order.map((each) => parseSort(each).property);
    const isTwice = new Set(properties).size < properties.length;
    if (properties.length < 2 || isTwice || properties.includes(columns.key.property)) {
      yield `${name} must have several columns, each once, and not the id, which ends each order`;
    }
    for (const property of properties) {
      const type = unorderedType(columns, property);
      if (!shown.has(property)) yield `${name} needs ${property}, which ${dto.name} lacks`;
      else if (type !== undefined) yield `${name} has ${property} of the type ${type}`;
    }
    const texts = columns.all.filter(
      ({ property, type }) => properties.includes(property) && type === 'text',
    );
    if (texts.length > 2) yield `${name} has more than two texts, so a Link could be too long`;
  }
}

function* filterMistakes({ columns, entity, filters }: Checked): Generator<string> {
  for (const [name, filter] of Object.entries(filters)) {
    // Its value would be the one of the parameter, such as the default of `limit`.
    if (!isFilter(name)) {
      yield `${entity.name}: no filter can have the name ${name}, which is a parameter of lists`;
      continue;
    }
    if (!isOnColumn(filter)) {
      const { equals } = filter;
      if (equals === undefined || columns.named(equals) !== undefined) continue;
      yield `${entity.name}: the filter ${name} needs a column ${equals}, which the entity does not have`;
      continue;
    }
    const column = columnOf(columns, filter);
    if (column === undefined) {
      const { property, isByColumn = false } = filter;
      yield `${entity.name}: the filter ${name} needs a ${isByColumn ? 'column' : 'property'} ${property}, which the entity does not have`;
      continue;
    }
    const why = filter.mistakeOf?.(column);
    if (why === undefined) continue;
    yield `${entity.name}.${column.property} ${why}: it cannot have the filter ${name}`;
  }
}

/** Nothing else uses the property: without its column, the index would never be cleaned. */
function* searchMistakes({ columns, entity, search }: Checked): Generator<string> {
  if (search === undefined) return;
  const property = searchedProperty(search);
  if (columns.all.some((each) => each.property === property && each.type === 'text')) return;
  yield `${entity.name}: the search needs a text ${property}, which the entity does not have`;
}

function* expansionMistakes({ columns, dto, shown, expansions, all }: Checked): Generator<string> {
  for (const [name, expansion] of Object.entries(expansions)) {
    const { property, dto: relatedDto } = expansion;
    const what = `${dto.name}: the expansion ${name}`;
    if (shown.has(name)) yield `${what} has the name of a property`;
    const column = columns.all.find((each) => each.property === property);
    if (column === undefined || !shown.has(property))
      yield `${what} needs the property ${property}`;
    const related = all.filter((each) => each.dto === relatedDto());
    if (related.length !== 1) {
      yield `${what} needs one repository with the dto ${relatedDto().name}, not ${related.length}`;
    } else if (
      column !== undefined &&
      column.type !== keyColumnOf(related[0]!.entity)?.options.type
    ) {
      yield `${what} needs ids in ${property}, which has the type ${column.type}`;
    }
  }
}
