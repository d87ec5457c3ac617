import { hash } from 'node:crypto';
import type { RowParameters, EntityColumns, NeededRows } from '../properties/entity-columns.js';
import type { Statements } from '../../database/statements.js';

/** The time for which a row counts as locked, in milliseconds, unless it is found free earlier. */
const MEMORY = 10_000;

const MAX_ROWS = 10_000;

/** In characters. Of longer values, such as a text that is a foreign key, the hash is kept. */
const MAX_LENGTH = 64;

/** The table, the column and the value of a key. */
export type RowKey = string;

export function rowKey({ table, key }: Pick<NeededRows, 'table' | 'key'>, value: unknown): RowKey {
  const text = String(value);
  return `${table}.${key} ${text.length > MAX_LENGTH ? hash('sha256', text, 'base64') : text}`;
}

/** The rows that a create locks: first its own, if clients choose the id, then the rows that it refers to. */
export function neededKeys(
  { needed }: EntityColumns,
  parameters: RowParameters,
): readonly RowKey[] {
  return needed
    .filter(({ at }) => parameters[at] !== null)
    .map((rows) => rowKey(rows, parameters[rows.at]));
}

/** Rows that another transaction held when they were last needed. Work that needs one of them waits apart from other work. */
export class LockedRows {
  /** The ends by `performance.now()`, in ascending order. */
  private readonly until = new Map<RowKey, number>();

  get size(): number {
    return this.until.size;
  }

  has(key: RowKey): boolean {
    const until = this.until.get(key);
    if (until === undefined || until > performance.now()) return until !== undefined;
    this.until.delete(key);
    return false;
  }

  add(key: RowKey): void {
    this.until.delete(key);
    this.until.set(key, performance.now() + MEMORY);
    const [oldest] = this.until.keys();
    if (this.until.size > MAX_ROWS && oldest !== undefined) this.until.delete(oldest);
  }

  delete(key: RowKey): void {
    this.until.delete(key);
  }
}

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
