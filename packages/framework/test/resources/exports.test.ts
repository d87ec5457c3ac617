import { beforeEach, expect, it, vi } from 'vitest';
import type { Bulkheads } from '../../src/database/bulkheads.js';
import { Semaphore } from '../../src/database/semaphore.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { Page } from '../../src/http/responses/page.js';
import type { PageParameters } from '../../src/http/responses/page.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { Exports } from '../../src/resources/transfers/exports.js';
import type { Pages } from '../../src/resources/reads/pages.js';

const list = vi.fn<Pages<PageParameters>['list']>();
const exports = new Exports<PageParameters>({
  pages: { list } as unknown as Pages<PageParameters>,
  bulkheads: {} as Bulkheads,
  slots: new Semaphore(1, ERRORS.tooManyExports),
  tracer: NO_TRACER,
});

let end: AbortController;
let answer: string;

beforeEach(() => {
  list.mockReset();
  end = new AbortController();
  answer = '';
});

async function run(): Promise<string> {
  for await (const text of exports.run({}, end.signal)) answer += text;
  return answer;
}

it('an export reads a page again that finds no connection in time', async () => {
  list
    .mockResolvedValueOnce(new Page(['1'], 1n, { limit: 1 }))
    .mockRejectedValueOnce(new ServiceException(ERRORS.tooManyExports))
    .mockRejectedValueOnce(new ServiceException(ERRORS.poolExhausted))
    .mockResolvedValueOnce(new Page(['2'], undefined, { limit: 1 }));
  expect(await run()).toBe('1\n2\n\n');
  expect(list.mock.calls.map(([{ after }]) => after)).toEqual([undefined, 1n, 1n, 1n]);
});

it.each([
  ['finds no connection', () => Promise.reject(new ServiceException(ERRORS.poolExhausted))],
  ['is read', () => Promise.resolve(new Page(['2'], undefined, { limit: 1 }))],
])(
  'an export that is aborted while a page %s fails with the reason, without this page and the empty line',
  async (_, outcome) => {
    const reason = new ServiceException(ERRORS.tokenExpired);
    list.mockResolvedValueOnce(new Page(['1'], 1n, { limit: 1 })).mockImplementationOnce(() => {
      end.abort(reason);
      return outcome();
    });
    await expect(run()).rejects.toBe(reason);
    expect(answer).toBe('1\n');
  },
);
