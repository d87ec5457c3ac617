import type { Type } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { DeclaredIndex } from '../../database/migrations/migration-file.js';
import { EntityColumns } from '../properties/entity-columns.js';
import { sortableOf, sortKeyOf } from './sort.js';

/**
 * Finds the indexes on a column and the id, in either direction. PostgreSQL rewrites an index's expression, and keeps its
 * collation apart.
 */
const FIND = `SELECT index.relname AS name FROM pg_index
    JOIN pg_class AS index ON index.oid = indexrelid
    JOIN pg_am ON pg_am.oid = relam AND amname = 'btree'
    JOIN pg_opclass ON pg_opclass.oid = indclass[0] AND opcdefault
    JOIN pg_attribute AS sorted ON sorted.attrelid = indrelid AND sorted.attname = $2
    JOIN pg_attribute AS key ON key.attrelid = indrelid AND key.attname = $3
  WHERE indrelid = to_regclass($1) AND indisvalid AND indpred IS NULL AND indkey[1] = key.attnum
    AND (indoption[0], indoption[1]) IN ((0, 0), (3, 3))
    AND CASE
      WHEN $4::int IS NULL THEN indkey[0] = sorted.attnum
      ELSE indcollation[0] = 'pg_catalog."C"'::regcollation
        AND pg_get_indexdef(indexrelid, 1, false)
          IN (format('"left"(%I, %s)', $2::text, $4::int), format('"left"((%I)::text, %s)', $2::text, $4::int))
    END`;

/** The indexes that `@Sortable()` declares. */
export function sortIndexesOf(
  dataSource: DataSource,
  columns: EntityColumns,
  entity: Type,
): readonly DeclaredIndex[] {
  const { table, tableName, key } = columns;
  return sortableOf(entity).map((property) => {
    const { column, expression, characters } = sortKeyOf(columns, property);
    const { databaseName } = column;
    return {
      entity,
      property,
      table,
      name: dataSource.driver.escape(indexName(dataSource, tableName, databaseName)),
      column: databaseName,
      keys: `${expression}, ${key.name}`,
      find: async (name = databaseName) => {
        const values = [table, name, key.databaseName, characters];
        const found = await dataSource.query<{ readonly name: string }[]>(FIND, values);
        return found.map((index) => index.name);
      },
    };
  });
}

/** Of all entities. */
export function allSortIndexes(dataSource: DataSource): readonly DeclaredIndex[] {
  return dataSource.entityMetadatas
    .map(({ target }) => target as Type)
    .filter((entity) => sortableOf(entity).length > 0)
    .flatMap((entity) => sortIndexesOf(dataSource, new EntityColumns(dataSource, entity), entity));
}

/** PostgreSQL would cut off a name of more than 63 bytes. */
function indexName({ namingStrategy }: DataSource, table: string, column: string): string {
  const name = `${table}_${column}`;
  return `${name.length > 50 ? namingStrategy.indexName(table, [column]) : name}_sort_idx`;
}

/** Returns a sentence for each index that sorted lists need and the table lacks. */
export async function missingSortIndexes(
  dataSource: DataSource,
  columns: EntityColumns,
  entity: Type,
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const { table, property, keys, find } of sortIndexesOf(dataSource, columns, entity)) {
    if ((await find()).length > 0) continue;
    missing.push(
      `${table}: lists can be sorted by ${property}, which needs an index that the table does not have: CREATE INDEX CONCURRENTLY ON ${table} (${keys})`,
    );
  }
  return missing;
}
