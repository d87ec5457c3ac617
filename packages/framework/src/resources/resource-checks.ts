import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { EntityColumns } from './entity-columns.js';

/** @throws TypeError if the database makes the key and must not, or the other way round */
export function requireKeyOf(
  { table, key, keyType, isGenerated }: EntityColumns,
  isWanted: boolean,
) {
  const refuse = (why: string): never => {
    throw new TypeError(`${table}.${key.property}: ${why}`);
  };
  if (isGenerated !== isWanted) {
    refuse(
      isGenerated
        ? 'the database makes it, so the repository must extend GeneratedIdRepository(…)'
        : 'clients choose it, so the repository must extend ResourceRepository(…)',
    );
  }
  if (!isGenerated && key.type !== 'bigint') refuse('only a bigint can be chosen by clients');
  if (typeof key.fromDriver('1') !== typeof keyType.least) {
    refuse('the options of the column must be those of INT64_COLUMN');
  }
}

/** @throws TypeError if a member is optional and its column is not, or the other way round */
export function requireSameOptions(columns: EntityColumns, dtoClass: Type): void {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dtoClass, '', true, false);
  for (const column of columns.of(dtoClass)) {
    const isOptional = rules.some(
      ({ propertyName, type }) =>
        propertyName === column.property && type === 'conditionalValidation',
    );
    if (columns.given.includes(column) && isOptional !== column.isNullable) {
      throw new TypeError(
        `${dtoClass.name}.${column.property} must be optional if and only if its column is nullable`,
      );
    }
  }
}
