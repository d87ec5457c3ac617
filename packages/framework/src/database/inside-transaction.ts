import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Only what a service itself does in a transaction is in it, no request of a resource: with Node.js before 24, each promise of a
 * process costs more once this was used.
 */
const inside = new AsyncLocalStorage<true>();

/** Calls the work of a transaction, which may also run statements that are not part of the transaction. */
export function insideTransaction<Result>(work: () => Result): Result {
  return inside.run(true, work);
}

/** Whether a transaction waits for its work, and holds a connection, until what runs here has ended. */
export function isInsideTransaction(): boolean {
  return inside.getStore() === true;
}
