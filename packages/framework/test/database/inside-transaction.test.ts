import { expect, it } from 'vitest';
import {
  insideTransaction,
  isInsideTransaction,
} from '../../src/database/lock-waits/inside-transaction.js';

it('the work of a transaction is inside, and what goes on after it is not', async () => {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const later: { isInside?: Promise<boolean> } = {};
  const isInside = await insideTransaction(async () => {
    later.isInside = ended.then(isInsideTransaction);
    await Promise.resolve();
    return isInsideTransaction();
  });
  expect(isInside).toBe(true);
  expect(isInsideTransaction()).toBe(false);
  end();
  expect(await later.isInside).toBe(false);
});

it('a transaction that has failed is over', async () => {
  const later: { isInside?: Promise<boolean> } = {};
  const ended = insideTransaction(() => {
    later.isInside = new Promise((resolve) => setTimeout(() => resolve(isInsideTransaction()), 1));
    return Promise.reject(new Error('no'));
  });
  await expect(ended).rejects.toThrow('no');
  expect(await later.isInside).toBe(false);
});
