import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/**
 * The column of the primary key.
 *
 * @throws TypeError if there are several, or it is of another type
 */
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

/**
 * How all names begin that the statements of resources give to what they select. Tables and columns have no such name, so that
 * none can be meant instead of another.
 */
const RESERVED = 'rs__';

/**
 * TypeORM's own statements would heed these, those of a resource would not.
 *
 * @throws TypeError that names what is not supported
 */
export function requireSupported({
  name,
  tableName,
  columns,
  deleteDateColumn,
  embeddeds,
  inheritancePattern,
  relations,
}: EntityMetadata): void {
  const refuse = (property: string, why: string) => {
    throw new TypeError(`${name}${property === '' ? '' : `.${property}`}: ${why}`);
  };
  if (tableName.startsWith(RESERVED)) refuse('', `no table can have a name with ${RESERVED}`);
  for (const { propertyName, databaseName } of columns) {
    if (databaseName.startsWith(RESERVED)) {
      refuse(
        propertyName,
        `no column can have a name with ${RESERVED}: statements have such names`,
      );
    }
  }
  if (inheritancePattern !== undefined) refuse('', 'a resource cannot have @TableInheritance()');
  if (deleteDateColumn !== undefined) {
    refuse(
      deleteDateColumn.propertyName,
      'a resource removes rows: @DeleteDateColumn() has no effect',
    );
  }
  for (const { propertyName } of embeddeds) {
    refuse(propertyName, 'a resource has no embedded columns: declare them in the entity');
  }
  const computed = columns.find(({ isVirtualProperty }) => isVirtualProperty);
  if (computed !== undefined) {
    refuse(computed.propertyName, 'a resource computes nothing: @VirtualColumn() has no effect');
  }
  for (const { propertyName, isEager, isManyToMany, joinColumns } of relations) {
    if (isEager) refuse(propertyName, 'a resource loads no relations: remove "eager"');
    // The columns of a many-to-many relation are in a table of their own.
    if (!isManyToMany && joinColumns.some(({ isVirtual }) => isVirtual)) {
      refuse(propertyName, 'the column of a relation needs a property of its own, with @Column()');
    }
  }
}
