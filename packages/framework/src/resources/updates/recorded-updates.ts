import { rowWait } from '../../database/lock-waits/row-wait.js';
import type { Statement } from '../../database/statements.js';
import type { RecordStatements } from '../recording/change-recorder.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import type { Key } from '../properties/key-type.js';
import { originParameters } from '../recording/origin.js';
import type { Origin } from '../recording/origin.js';

export interface Recording {
  readonly records: RecordStatements;
  readonly origin: Origin;
}

/** The condition of a statement for {@link replacing}: the row is locked, and its previous values are known. */
export function isLocked({ key: { name } }: EntityColumns): string {
  return `${name} IN (SELECT ${name} FROM rs__before)`;
}

/** Wraps a statement that replaces and returns a row, to record the change. */
export function replacing(
  { text, values = [], types }: Statement,
  { table, key }: EntityColumns,
  id: Key,
  { records, origin }: Recording,
  lockWait?: number,
): Statement {
  const [n, principal, requestId, wait] = [1, 2, 3, 4].map(
    (offset) => `$${values.length + offset}`,
  );
  const record = records.insert({
    kind: 'replaced',
    row: 'rs__changed',
    before: 'rs__before',
    from: 'rs__changed, rs__before',
    actor: [`${principal}::text`, `${requestId}::text`],
  });
  const isSoon = lockWait === undefined ? '' : ` AND ${rowWait(`${wait}`)}`;
  return {
    // The lock waits for concurrent changes, and returns their result.
    text: `WITH rs__before AS MATERIALIZED (SELECT * FROM ${table} WHERE ${key.name} = ${n}${isSoon} FOR UPDATE),
        rs__changed AS (${text}),
        rs__recorded AS (${record})
        SELECT * FROM rs__changed`,
    values: [
      ...values,
      String(id),
      ...originParameters(origin),
      ...(lockWait === undefined ? [] : [String(lockWait)]),
    ],
    types,
  };
}

/** Wraps a statement that removes and returns rows, to record the removals. */
export function removing(
  { text, values = [], types }: Statement,
  { records, origin }: Recording,
): Statement {
  const [principal, requestId] = [1, 2].map((offset) => `$${values.length + offset}`);
  const record = records.insert({
    kind: 'removed',
    row: 'rs__changed',
    from: 'rs__changed',
    actor: [`${principal}::text`, `${requestId}::text`],
  });
  return {
    text: `WITH rs__changed AS (${text}), rs__recorded AS (${record}) SELECT * FROM rs__changed`,
    values: [...values, ...originParameters(origin)],
    types,
  };
}
