import type { EntityMetadata } from 'typeorm';
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

/**
 * Rejects what TypeORM's own statements would heed, but the statements of a resource would not.
 *
 * @throws TypeError
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
  const reject = (property: string, why: string) => {
    throw new TypeError(`${name}${property === '' ? '' : `.${property}`}: ${why}`);
  };
  if (tableName.startsWith(RESERVED)) reject('', `no table can have a name with ${RESERVED}`);
  for (const { propertyName, databaseName } of columns) {
    if (databaseName.startsWith(RESERVED)) {
      reject(
        propertyName,
        `no column can have a name with ${RESERVED}: statements have such names`,
      );
    }
  }
  if (inheritancePattern !== undefined) reject('', 'a resource cannot have @TableInheritance()');
  if (deleteDateColumn !== undefined) {
    reject(
      deleteDateColumn.propertyName,
      'a resource removes rows: @DeleteDateColumn() has no effect',
    );
  }
  for (const { propertyName } of embeddeds) {
    reject(propertyName, 'a resource has no embedded columns: declare them in the entity');
  }
  const computed = columns.find(({ isVirtualProperty }) => isVirtualProperty);
  if (computed !== undefined) {
    reject(computed.propertyName, 'a resource computes nothing: @VirtualColumn() has no effect');
  }
  for (const { propertyName, isEager, isManyToMany, joinColumns } of relations) {
    if (isEager) reject(propertyName, 'a resource loads no relations: remove "eager"');
    // A many-to-many relation has a table of its own.
    if (!isManyToMany && joinColumns.some(({ isVirtual }) => isVirtual)) {
      reject(propertyName, 'the column of a relation needs a property of its own, with @Column()');
    }
  }
}
