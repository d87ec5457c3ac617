import { expect, it, vi } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { createLogger } from '../../src/observability/logger.js';
import { pruneInSteps } from '../../src/database/prune.js';

const CANCELLED = new ServiceException(ERRORS.databaseTooSlow);
const OUTAGE = new ServiceException(ERRORS.databaseUnavailable);
const LOCKED = new ServiceException(ERRORS.rowLocked);
const CONFLICT = new ServiceException(ERRORS.transactionConflict);
const EXHAUSTED = new ServiceException(ERRORS.poolExhausted);

/** The rounds fail in this way, then pruning ends. Returns how often it was logged that rows cannot be removed. */
async function linesAfter(rounds: readonly (Error | undefined)[]): Promise<number> {
  const lines: string[] = [];
  const logger = createLogger('error', { write: (line) => void lines.push(line) });
  const end = new AbortController();
  const step = vi.fn<() => Promise<boolean>>();
  for (const failure of rounds) {
    if (failure === undefined) step.mockResolvedValueOnce(false);
    else step.mockRejectedValueOnce(failure);
  }
  step.mockImplementation(() => {
    end.abort();
    return Promise.resolve(false);
  });
  const pruned = { table: 'tools', rows: 'tools', logger, step };
  await pruneInSteps(pruned, end.signal, { round: 0, step: 0 });
  expect(step).toHaveBeenCalledTimes(rounds.length + 1);
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({ table: 'tools', msg: 'old tools cannot be removed' });
  }
  return lines.length;
}

it.each([
  ['once while PostgreSQL cancels it each time', [CANCELLED, CANCELLED, CANCELLED], 1],
  ['once while another transaction locks the table', [LOCKED, LOCKED], 1],
  ['once while transactions conflict', [CONFLICT, CONFLICT], 1],
  ['once, whatever happens in between', [CANCELLED, OUTAGE, CANCELLED], 1],
  ['again after it was possible', [CANCELLED, undefined, CANCELLED], 2],
  ['for each reason', [new Error('a'), new Error('a'), new Error('b')], 2],
  ['not in an outage, which the pool reports', [OUTAGE, OUTAGE], 0],
  ['not while all connections are in use', [EXHAUSTED, EXHAUSTED], 0],
])('that old rows cannot be removed is logged %s', async (_, rounds, lines) => {
  expect(await linesAfter(rounds)).toBe(lines);
});
