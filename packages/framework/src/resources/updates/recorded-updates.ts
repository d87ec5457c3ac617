import { rowWait } from '../../database/row-wait.js';
import type { Statement } from '../../database/statements.js';
import type { RecordStatements } from '../recording/change-recorder.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import type { Key } from '../properties/key-type.js';
import { originParameters } from '../recording/origin.js';
import type { Origin } from '../recording/origin.js';

/** How the changes of a request are recorded. */
export interface Recording {
  readonly records: RecordStatements;
  readonly origin: Origin;
}

/** The condition of a statement for {@link replacing}: the row is locked, and what it was before is known. */
export function isLocked({ key: { name } }: EntityColumns): string {
  return `${name} IN (SELECT ${name} FROM rs__before)`;
}

/**
 * Wraps a statement that replaces a row, and returns it.
 *
 * @param lockWait how long it waits for the lock of the row, in milliseconds; by default as long as for other locks
 */
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
    // The lock waits for concurrent changes, and returns what they have left.
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

/** Wraps a statement that removes rows, and returns them. */
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
