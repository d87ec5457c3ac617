import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { DataSource } from 'typeorm';
import { isExcluded, validatedPropertiesOf } from '../http/body/dto.pipe.js';
import type { EntityColumns } from './properties/entity-columns.js';
import { MAX_INT64 } from './properties/int64.js';
import { sortableOf, sortKeyOf } from './reads/sort.js';

/** @throws TypeError if the database makes the key and must not, or vice versa */
export function requireKeyOf(
  { table, key, keyType, isGenerated }: EntityColumns,
  isWanted: boolean,
) {
  const reject = (why: string): never => {
    throw new TypeError(`${table}.${key.property}: ${why}`);
  };
  if (isGenerated !== isWanted) {
    reject(
      isGenerated
        ? 'the database makes it, so the repository must extend GeneratedIdRepository(…)'
        : 'clients choose it, so the repository must extend ResourceRepository(…)',
    );
  }
  if (!isGenerated && key.type !== 'bigint') reject('only a bigint can be chosen by clients');
  if (typeof key.fromDriver('1') !== typeof keyType.least) {
    reject('the options of the column must be those of INT64_COLUMN');
  }
}

/**
 * A column is either validated, thus part of the interface, or internal, by `@Exclude()`. With neither, the interface would silently
 * lack it; with both, responses would show what should be hidden. A `Link` would too, with the value of the sorted column.
 *
 * @throws TypeError
 */
export function requireProperties({ all }: EntityColumns, entity: Type, dtoClass: Type): void {
  const validated = new Set([...validatedPropertiesOf(entity), ...validatedPropertiesOf(dtoClass)]);
  for (const { property } of all) {
    const isInternal = isExcluded(entity, property);
    if (validated.has(property) !== isInternal) continue;
    throw new TypeError(
      isInternal
        ? `${entity.name}.${property} has @Exclude(), and the decorator of a property: remove one of them`
        : `${entity.name}.${property} has a column, but no decorator of a property: add one, such as @TextField(), or @Exclude() of class-transformer if the column is internal`,
    );
  }
  const shown = validatedPropertiesOf(dtoClass);
  for (const property of sortableOf(entity)) {
    if (shown.has(property)) continue;
    throw new TypeError(
      `${entity.name}.${property} has @Sortable(), but ${dtoClass.name} lacks it: each Link would have its values`,
    );
  }
}

/** @throws TypeError for a bigint, which the driver reads as text, without the conversion of `INT64_COLUMN` */
export function requireExactIntegers(columns: EntityColumns, entity: Type, dtoClass: Type): void {
  for (const { property, type, fromDriver } of columns.of(dtoClass)) {
    if (type !== 'bigint' || fromDriver(String(MAX_INT64)) === MAX_INT64) continue;
    throw new TypeError(
      `${entity.name}.${property}: the options of a column of type bigint must be those of INT64_COLUMN, such as @Column(INT64_COLUMN)`,
    );
  }
}

/** @throws TypeError if a property is optional and its column is not nullable, or vice versa */
export function requireSameOptions(columns: EntityColumns, dtoClass: Type): void {
  const validations = getMetadataStorage().getTargetValidationMetadatas(dtoClass, '', true, false);
  for (const column of columns.of(dtoClass)) {
    const isOptional = validations.some(
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

/** Finds an index on a column and the id, in either direction. PostgreSQL rewrites an index's expression, and keeps its collation apart. */
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

/** Returns a sentence for each index that sorted lists need and the table lacks. */
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
