import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Only the service's own transactions use it, no request of a resource: with Node.js before 24, each promise of a
 * process costs more once this was used.
 */
const inside = new AsyncLocalStorage<true>();

/** Calls the work of a transaction, which may also run statements that are not part of the transaction. */
export function insideTransaction<Result>(work: () => Result): Result {
  return inside.run(true, work);
}

/** Whether a transaction, which holds a connection, waits for the caller. */
export function isInsideTransaction(): boolean {
  return inside.getStore() === true;
}
