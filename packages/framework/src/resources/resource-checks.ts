import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { DataSource } from 'typeorm';
import { isExcluded, membersOf } from '../http/body/dto.pipe.js';
import type { EntityColumns } from './properties/entity-columns.js';
import { MAX_INT64 } from './properties/int64.js';
import { sortableOf, sortKeyOf } from './reads/sort.js';

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
 * silently; with both, answers would have what is meant to be hidden. So would a `Link`, with the value of a row in the column of the
 * order.
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
  const shown = membersOf(dtoClass);
  for (const property of sortableOf(entity)) {
    if (shown.has(property)) continue;
    throw new TypeError(
      `${entity.name}.${property} has @Sortable(), but ${dtoClass.name} lacks it: each Link would have its values`,
    );
  }
}

/**
 * The driver reads a bigint as text. Only with the conversion of `INT64_COLUMN` is it an integer with all digits, in each response and
 * for all code of the service.
 *
 * @throws TypeError that names the class and the property
 */
export function requireExactIntegers(columns: EntityColumns, entity: Type, dtoClass: Type): void {
  for (const { property, type, fromDriver } of columns.of(dtoClass)) {
    if (type !== 'bigint' || fromDriver(String(MAX_INT64)) === MAX_INT64) continue;
    throw new TypeError(
      `${entity.name}.${property}: the options of a column of type bigint must be those of INT64_COLUMN, such as @Column(INT64_COLUMN)`,
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

/**
 * Finds an index in the order of a column and the id, in either direction. PostgreSQL writes the expression of an index in its own way,
 * and the collation of a text beside it.
 */
const FIND_SORT_INDEX = `SELECT 1 FROM pg_index
    JOIN pg_class ON pg_class.oid = indexrelid
    JOIN pg_am ON pg_am.oid = relam AND amname = 'btree'
    JOIN pg_opclass ON pg_opclass.oid = indclass[0] AND opcdefault
    JOIN pg_attribute AS sorted ON sorted.attrelid = indrelid AND sorted.attname = $2
    JOIN pg_attribute AS key ON key.attrelid = indrelid AND key.attname = $3
  WHERE indrelid = $1::regclass AND indisvalid AND indpred IS NULL AND indkey[1] = key.attnum
    AND (indoption[0], indoption[1]) IN ((0, 0), (3, 3))
    AND CASE
      WHEN $4::int IS NULL THEN indkey[0] = sorted.attnum
      ELSE indcollation[0] = 'pg_catalog."C"'::regcollation
        AND pg_get_indexdef(indexrelid, 1, false)
          IN (format('"left"(%I, %s)', $2::text, $4::int), format('"left"((%I)::text, %s)', $2::text, $4::int))
    END`;

/** The indexes that lists of an entity need and the table lacks, each as a sentence. */
export async function missingSortIndexes(
  dataSource: DataSource,
  columns: EntityColumns,
  entity: Type,
): Promise<readonly string[]> {
  const { table, key } = columns;
  const missing: string[] = [];
  for (const property of sortableOf(entity)) {
    const { column, expression, characters } = sortKeyOf(columns, property);
    const names = [column.databaseName, key.databaseName];
    const found: unknown[] = await dataSource.query(FIND_SORT_INDEX, [table, ...names, characters]);
    if (found.length > 0) continue;
    missing.push(
      `${table}: lists can be sorted by ${property}, which needs an index that the table does not have: CREATE INDEX CONCURRENTLY ON ${table} (${expression}, ${key.name})`,
    );
  }
  return missing;
}
