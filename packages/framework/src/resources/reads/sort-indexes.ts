import type { Type } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { DeclaredIndex } from '../../database/migrations/migration-file.js';
import { EntityColumns } from '../properties/entity-columns.js';
import { DIRECTIONS, ordersOf, sortableOf, sortOf } from './sort.js';

/**
 * The condition of an index that has all rows which are not removed.
 *
 * @param removedAt the parameter with the column of the time of the removal, or null
 */
export function hasListedRows(removedAt: string): string {
  return `(indpred IS NULL OR pg_get_expr(indpred, indrelid) = '(' || quote_ident(${removedAt}::text) || ' IS NULL)')`;
}

/**
 * Finds the indexes with these keys, forward or backward. PostgreSQL rewrites an index's expression, and keeps its collation apart.
 */
const FIND = `SELECT index.relname AS name FROM pg_index
    JOIN pg_class AS index ON index.oid = indexrelid
    JOIN pg_am ON pg_am.oid = relam AND amname = 'btree'
    CROSS JOIN LATERAL (SELECT bool_and(coalesce(opcdefault AND CASE
        WHEN characters IS NULL THEN indkey[place - 1] = attnum
        ELSE indcollation[place - 1] = 'pg_catalog."C"'::regcollation
          AND pg_get_indexdef(indexrelid, place::int, false)
            IN ('"left"(' || quote_ident(attname) || ', ' || characters || ')', '"left"((' || quote_ident(attname) || ')::text, ' || characters || ')')
        END, false)) AS "hasKeys",
        bool_and(indoption[place - 1] = option) OR bool_and(indoption[place - 1] = 3 - option) AS "hasOrder"
      FROM unnest($2::text[], $3::int[], $4::int[]) WITH ORDINALITY AS wanted (name, characters, option, place)
      LEFT JOIN pg_attribute ON attrelid = indrelid AND attname = wanted.name
      LEFT JOIN pg_opclass ON pg_opclass.oid = indclass[place - 1]) AS found
  WHERE indrelid = to_regclass($1) AND indisvalid AND ${hasListedRows('$5')}
    AND indnkeyatts >= cardinality($2) AND "hasKeys" AND "hasOrder"`;

/** The indexes that `@Sortable()` and `@SortableBy()` declare. */
export function sortIndexesOf(
  dataSource: DataSource,
  columns: EntityColumns,
  entity: Type,
): readonly DeclaredIndex[] {
  const { table, tableName, key, removedAt } = columns;
  const orders = [...sortableOf(entity), ...ordersOf(entity).map((order) => order.join())];
  return orders.map((sort) => {
    const { by, isDescending } = sortOf(columns, { sort });
    const option = isDescending ? 3 : 0;
    const own = by.map(({ column }) => column.databaseName);
    const parts = by.map((each, at) => own[at] + (each.isDescending ? '_desc' : ''));
    const keys = by.map((each) => each.expression + DIRECTIONS[each.option]);
    return {
      entity,
      order: sort,
      table,
      name: dataSource.driver.escape(indexName(dataSource, tableName, parts)),
      columns: own,
      keys: [...keys, key.name + DIRECTIONS[option]].join(', '),
      find: async (names = own) => {
        const values = [
          table,
          [...names, key.databaseName],
          [...by.map(({ characters }) => characters), null],
          [...by.map((each) => each.option), option],
          removedAt?.databaseName,
        ];
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
    .filter((entity) => sortableOf(entity).length + ordersOf(entity).length > 0)
    .flatMap((entity) => sortIndexesOf(dataSource, new EntityColumns(dataSource, entity), entity));
}

/** PostgreSQL would cut off a name of more than 63 bytes. */
function indexName(
  { namingStrategy }: DataSource,
  table: string,
  parts: readonly string[],
): string {
  const name = [table, ...parts].join('_');
  return `${name.length > 50 ? namingStrategy.indexName(table, [...parts]) : name}_sort_idx`;
}

/** Returns a sentence for each index that sorted lists need and the table lacks. */
export async function missingSortIndexes(
  dataSource: DataSource,
  columns: EntityColumns,
  entity: Type,
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const { table, order, keys, find } of sortIndexesOf(dataSource, columns, entity)) {
    if ((await find()).length > 0) continue;
    missing.push(
      `${table}: lists can be sorted by ${order}, which needs an index that the table does not have: CREATE INDEX CONCURRENTLY ON ${table} (${keys})`,
    );
  }
  return missing;
}
