import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Only the service's own transactions use it, no request of a resource: with Node.js before 24, each promise of a
 * process costs more once this was used. What the work starts and does not wait for, such as a timer, inherits the object, so it says
 * when the work has ended.
 */
const inside = new AsyncLocalStorage<{ isActive: boolean; readonly depth: number }>();

/** Calls the work of a transaction, which may also run statements that are not part of the transaction. */
export async function insideTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const transaction = { isActive: true, depth: transactionDepth() + 1 };
  try {
    return await inside.run(transaction, work);
  } finally {
    transaction.isActive = false;
  }
}

/** How many transactions, each of which holds a connection, wait for the caller: more than one if they are nested. */
export function transactionDepth(): number {
  const transaction = inside.getStore();
  return transaction?.isActive === true ? transaction.depth : 0;
}
