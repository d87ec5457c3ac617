import { Test } from '@nestjs/testing';
import { beforeEach, expect, it, vi } from 'vitest';
import { CatalogueService } from '../src/catalogue/catalogue.service.js';
import { ConnectionShares } from '../src/database/connection-shares.js';
import { ERRORS } from '../src/errors/common-errors.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import { NO_TRACER, TRACER } from '../src/observability/tracer.js';
import { ExportService } from '../src/transfer/export.service.js';

const list = vi.fn<CatalogueService['list']>();
let exports: ExportService;

beforeEach(async () => {
  list.mockReset();
  const module = await Test.createTestingModule({
    providers: [
      ExportService,
      { provide: CatalogueService, useValue: { list } },
      { provide: ConnectionShares, useValue: {} },
      { provide: TRACER, useValue: NO_TRACER },
    ],
  }).compile();
  exports = module.get(ExportService);
});

async function run(clientGone = new AbortController()): Promise<string> {
  let answer = '';
  for await (const text of exports.run({}, clientGone.signal)) answer += text;
  return answer;
}

it('an export reads a page again that finds no connection in time', async () => {
  list
    .mockResolvedValueOnce({ plants: ['1'], next: 1n })
    .mockRejectedValueOnce(new PlantStoreError(ERRORS.tooManyExports))
    .mockRejectedValueOnce(new PlantStoreError(ERRORS.poolExhausted))
    .mockResolvedValueOnce({ plants: ['2'], next: undefined });
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
