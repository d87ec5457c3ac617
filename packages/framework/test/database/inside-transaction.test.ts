import { expect, it } from 'vitest';
import {
  insideTransaction,
  transactionDepth,
} from '../../src/database/lock-waits/inside-transaction.js';

it('the work of a transaction is inside, and what goes on after it is not', async () => {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const later: { isInside?: Promise<boolean> } = {};
  const isInside = await insideTransaction(async () => {
    later.isInside = ended.then(() => transactionDepth() > 0);
    await Promise.resolve();
    return transactionDepth() > 0;
  });
  expect(isInside).toBe(true);
  expect(transactionDepth()).toBe(0);
  end();
  expect(await later.isInside).toBe(false);
});

it('a transaction that has failed is over', async () => {
  const later: { isInside?: Promise<boolean> } = {};
  const ended = insideTransaction(() => {
    later.isInside = new Promise((resolve) => setTimeout(() => resolve(transactionDepth() > 0), 1));
    return Promise.reject(new Error('no'));
  });
  await expect(ended).rejects.toThrow('no');
  expect(await later.isInside).toBe(false);
});

it('of a transaction in the work of another, both hold a connection', async () => {
  const depths = await insideTransaction(async () => [
    transactionDepth(),
    await insideTransaction(() => Promise.resolve(transactionDepth())),
    transactionDepth(),
  ]);
  expect(depths).toEqual([1, 2, 1]);
});
