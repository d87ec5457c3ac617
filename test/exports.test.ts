import { beforeEach, expect, it, vi } from 'vitest';
import type { ConnectionShares } from '../src/database/connection-shares.js';
import { Slots } from '../src/database/slots.js';
import { ERRORS } from '../src/errors/common-errors.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import { Page } from '../src/http/answers/page.js';
import type { PageParameters } from '../src/http/answers/page.js';
import { NO_TRACER } from '../src/observability/tracer.js';
import { Exports } from '../src/resources/exports.js';
import type { Pages } from '../src/resources/pages.js';

const list = vi.fn<Pages<PageParameters>['list']>();
const exports = new Exports<PageParameters>({
  pages: { list } as unknown as Pages<PageParameters>,
  shares: {} as ConnectionShares,
  slots: new Slots(1, ERRORS.tooManyExports),
  tracer: NO_TRACER,
});

beforeEach(() => {
  list.mockReset();
});

async function run(clientGone = new AbortController()): Promise<string> {
  let answer = '';
  for await (const text of exports.run({}, clientGone.signal)) answer += text;
  return answer;
}

it('an export reads a page again that finds no connection in time', async () => {
  list
    .mockResolvedValueOnce(new Page(['1'], 1n, { limit: 1 }))
    .mockRejectedValueOnce(new PlantStoreError(ERRORS.tooManyExports))
    .mockRejectedValueOnce(new PlantStoreError(ERRORS.poolExhausted))
    .mockResolvedValueOnce(new Page(['2'], undefined, { limit: 1 }));
  expect(await run()).toBe('1\n2\n\n');
  expect(list.mock.calls.map(([{ after }]) => after)).toEqual([undefined, 1n, 1n, 1n]);
});

it('an export whose client has left has no empty line', async () => {
  const clientGone = new AbortController();
  list.mockImplementation(() => {
    clientGone.abort();
    return Promise.reject(new PlantStoreError(ERRORS.databaseUnavailable));
  });
  expect(await run(clientGone)).toBe('');
});
