import { getMetadataArgsStorage } from 'typeorm';
import type { Driver, EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** @throws TypeError if there are several primary keys, or it is of another type */
export function requireKey(
  { name, primaryColumns }: EntityMetadata,
  property: string,
): ColumnMetadata {
  const [key, ...others] = primaryColumns;
  const isKeyType = key?.type === 'bigint' || key?.type === 'uuid';
  if (others.length === 0 && key?.propertyName === property && isKeyType) return key;
  throw new TypeError(
    `${name} must have one primary key, "${property}", which is a bigint or a uuid`,
  );
}

/** The prefix of all names that the statements of resources define, so that they are never ambiguous. */
const RESERVED = 'rs__';

/** Types that cannot be compared, whose arrays have a name of their own, or that TypeORM alone reads. */
const REPLACED_TYPES: Readonly<Record<string, string>> = {
  json: 'jsonb',
  enum: 'text',
  bit: 'text',
  'simple-array': 'text with the option array',
  'simple-json': 'jsonb',
};

/** A line for each feature that TypeORM's own statements would heed, but the statements of a resource would not. */
export function unsupportedFeatures(metadata: EntityMetadata, driver: Driver): readonly string[] {
  const { name } = metadata;
  return Array.from(
    unsupported(metadata, driver),
    ([property, why]) => `${name}${property === '' ? '' : `.${property}`}: ${why}`,
  );
}

function* unsupported(
  { tableName, columns, embeddeds, inheritancePattern, relations }: EntityMetadata,
  driver: Driver,
): Generator<readonly [property: string, why: string]> {
  if (tableName.startsWith(RESERVED)) yield ['', `no table can have a name with ${RESERVED}`];
  const properties = new Map<string, string>();
  for (const column of columns) {
    const { propertyName, databaseName } = column;
    if (databaseName.startsWith(RESERVED)) {
      const why = `no column can have a name with ${RESERVED}: statements have such names`;
      yield [propertyName, why];
    }
    const other = properties.get(databaseName);
    if (other !== undefined) yield [propertyName, `${other} has the column ${databaseName}, too`];
    properties.set(databaseName, propertyName);
    if (isDeclaredTwice(column)) {
      yield [propertyName, 'its decorator declares the column: remove @Column()'];
    }
    if (propertyName in Object.prototype) {
      yield [propertyName, 'no property can have a name that every object has'];
    }
    // The driver takes types that TypeORM alone reads for text.
    const declared = typeof column.type === 'string' ? column.type : '';
    const type = declared in REPLACED_TYPES ? declared : driver.normalizeType(column);
    const instead = REPLACED_TYPES[type];
    if (instead !== undefined)
      yield [propertyName, `it cannot have the type ${type}: use ${instead}`];
    if (column.isVirtualProperty) {
      yield [propertyName, 'a resource computes nothing: @VirtualColumn() has no effect'];
    }
  }
  if (inheritancePattern !== undefined) yield ['', 'a resource cannot have @TableInheritance()'];
  for (const { propertyName } of embeddeds) {
    yield [propertyName, 'a resource has no embedded columns: declare them in the entity'];
  }
  for (const { propertyName, isEager, isManyToMany, joinColumns } of relations) {
    if (isEager) yield [propertyName, 'a resource loads no relations: remove "eager"'];
    // A many-to-many relation has a table of its own.
    if (!isManyToMany && joinColumns.some(({ isVirtual }) => isVirtual)) {
      yield [propertyName, 'the column of a relation needs a property of its own, with @Column()'];
    }
  }
}

/** TypeORM ignores the second. */
function isDeclaredTwice({ target, propertyName }: ColumnMetadata): boolean {
  const declared = getMetadataArgsStorage().columns.filter(
    (each) => each.target === target && each.propertyName === propertyName,
  );
  return declared.length > 1;
}
