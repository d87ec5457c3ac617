import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { isExcluded, membersOf } from '../http/body/dto.pipe.js';
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

/**
 * A column is a member, which has a rule, or internal, which `@Exclude()` says: without either, the interface would lack it
 * silently; with both, answers would have what is meant to be hidden.
 *
 * @throws TypeError
 */
export function requireMembers({ all }: EntityColumns, entity: Type, dtoClass: Type): void {
  const members = new Set([...membersOf(entity), ...membersOf(dtoClass)]);
  for (const { property } of all) {
    const isInternal = isExcluded(entity, property);
    if (members.has(property) !== isInternal) continue;
    throw new TypeError(
      isInternal
        ? `${entity.name}.${property} has @Exclude(), and the decorator of a member: remove one of them`
        : `${entity.name}.${property} has a column, but no decorator of a member: add one, such as @TextField(), or @Exclude() of class-transformer if the column is internal`,
    );
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
