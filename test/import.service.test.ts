import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import type { Line } from '../src/http/body-lines.js';
import { createLogger, LOGGER } from '../src/observability/logger.js';
import { PlantsService } from '../src/plants/plants.service.js';
import { ImportService } from '../src/transfer/import.service.js';

const store = vi.fn<PlantsService['store']>();
const log: string[] = [];
let imports: ImportService;

beforeEach(async () => {
  vi.useFakeTimers();
  store.mockReset();
  log.length = 0;
  const module = await Test.createTestingModule({
    providers: [
      ImportService,
      { provide: PlantsService, useValue: { store } },
      { provide: LOGGER, useValue: createLogger('info', { write: (line) => void log.push(line) }) },
    ],
  }).compile();
  imports = module.get(ImportService);
});

afterEach(() => {
  vi.useRealTimers();
});

async function* linesOf(...texts: readonly string[]): AsyncGenerator<Line> {
  for (const [index, text] of texts.entries()) {
    yield { number: index + 1, length: text.length, bytes: Buffer.from(text) };
  }
}

async function run(...texts: readonly string[]): Promise<string> {
  let answer = '';
  const work = (async () => {
    for await (const text of imports.run(linesOf(...texts))) answer += text;
  })();
  work.catch(() => {});
  await vi.advanceTimersByTimeAsync(60_000);
  await work;
  return answer;
}

const UNAVAILABLE = new PlantStoreError('database-unavailable');

describe('an import', () => {
  it.each(['database-unavailable', 'overloaded'] as const)(
    'retries a line after %s',
    async (code) => {
      store.mockRejectedValueOnce(new PlantStoreError(code)).mockResolvedValue('created');
      expect(await run('{"id":1,"name":"a"}')).toBe('{"created":1,"unchanged":0,"refused":0}\n');
      expect(store).toHaveBeenCalledTimes(2);
    },
  );

  it('fails like a create if the outage lasts', async () => {
    store.mockRejectedValue(UNAVAILABLE);
    await expect(run('{"id":1,"name":"a"}')).rejects.toBe(UNAVAILABLE);
  });

  it('ends with an Error instead of a summary if the answer has begun', async () => {
    store.mockRejectedValue(UNAVAILABLE);
    expect(await run('{}', '{"id":1,"name":"a"}')).toBe(
      '{"line":1,"error":40003,"message":"id is missing; name is missing"}\n{"error":50300,"message":"the database is unavailable"}\n',
    );
    expect(log.join('')).toContain('an import ended early');
  });

  it('fails at a bug, without a summary', async () => {
    const bug = new TypeError('a bug');
    store.mockRejectedValue(bug);
    await expect(run('{}', '{"id":1,"name":"a"}')).rejects.toBe(bug);
  });

  it('gives back its place after a failure', async () => {
    store.mockRejectedValue(new TypeError('a bug'));
    for (let round = 0; round < 10; round++) {
      await expect(run('{"id":1,"name":"a"}')).rejects.toThrow('a bug');
    }
  });
});
