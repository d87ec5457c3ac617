import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RejectedStatementError } from '../../src/database/database-error.js';
import { repeatAfterConflict } from '../../src/database/repeat-after-conflict.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';

const DEADLOCK = new RejectedStatementError('40P01');

describe('a transaction that is in conflict with others', () => {
  let clock = 0;

  beforeEach(() => {
    clock = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => clock);
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('is repeated', async () => {
    const transaction = vi
      .fn<() => Promise<string>>()
      .mockRejectedValueOnce(DEADLOCK)
      .mockResolvedValueOnce('done');
    expect(await repeatAfterConflict(transaction)).toBe('done');
  });

  it.each([
    [10, 3],
    [1_000, 3],
    [2_000, 2],
    [5_000, 1],
  ])('and takes %i ms each time fails after %i attempts', async (milliseconds, attempts) => {
    const transaction = vi.fn<() => Promise<string>>().mockImplementation(() => {
      clock += milliseconds;
      return Promise.reject(DEADLOCK);
    });
    await expect(repeatAfterConflict(transaction)).rejects.toBe(DEADLOCK);
    expect(transaction).toHaveBeenCalledTimes(attempts);
  });

  it.each([
    new RejectedStatementError('40003'),
    new RejectedStatementError('55P03'),
    new ServiceException(ERRORS.databaseUnavailable),
    new Error('a bug'),
  ])('is not repeated after another failure: %s', async (failure) => {
    const transaction = vi.fn<() => Promise<string>>().mockRejectedValue(failure);
    await expect(repeatAfterConflict(transaction)).rejects.toBe(failure);
    expect(transaction).toHaveBeenCalledTimes(1);
  });
});
