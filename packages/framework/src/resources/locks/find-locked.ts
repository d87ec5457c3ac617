import type { Statements } from '../../database/statements.js';
import type { EntityColumns, RowParameters } from '../properties/entity-columns.js';
import { rowKey } from './locked-rows.js';
import type { RowKey } from './locked-rows.js';

/** Finds the rows that the creates of `rows` need and another transaction holds. It does not see uncommitted rows. */
export async function findLocked(
  statements: Statements,
  { needed }: EntityColumns,
  rows: readonly RowParameters[],
): Promise<readonly RowKey[]> {
  const found: RowKey[] = [];
  // Citus cannot skip locked rows of several shards.
  if (statements.isDistributed) return found;
  for (const { at, table, key, type, lock } of needed) {
    const keys = new Set(rows.map((parameters) => parameters[at]));
    keys.delete(null);
    if (keys.size === 0) continue;
    const wanted = `SELECT ${key} FROM ${table} WHERE ${key} = ANY ($1::${type}[])`;
    const locked = await statements.rows({
      text: `${wanted} AND ${key} NOT IN (SELECT ${key} FROM (${wanted} FOR ${lock} SKIP LOCKED) AS free)`,
      values: [[...keys]],
    });
    found.push(...locked.map(([value]) => rowKey({ table, key }, value)));
  }
  return found;
}
