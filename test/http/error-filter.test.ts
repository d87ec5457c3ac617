import { ConflictException, ServiceUnavailableException } from '@nestjs/common';
import type { ArgumentsHost } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { PlantStoreError } from '../../src/errors/plant-store.error.js';
import { ErrorFilter } from '../../src/http/errors/error.filter.js';
import { LOGGER } from '../../src/observability/logger.js';
import { Metrics } from '../../src/observability/metrics.js';

let filter: ErrorFilter;
let log: Record<string, unknown>[];

beforeAll(async () => {
  const logger = pino(
    { formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const module = await Test.createTestingModule({
    providers: [ErrorFilter, Metrics, { provide: LOGGER, useValue: logger }],
  }).compile();
  filter = module.get(ErrorFilter);
});

beforeEach(() => {
  log = [];
});

/** Runs the filter, and returns the calls on the response. */
function answerTo(failure: unknown, request: object = {}, response: object = {}): unknown[] {
  const calls: unknown[] = [];
  const http = {
    getRequest: () => ({ id: 'the-request', destroyed: false, complete: true, ...request }),
    getResponse: () => ({
      req: { httpVersion: '1.1' },
      headersSent: false,
      setHeaders: (fields: Headers) => calls.push(Object.fromEntries(fields)),
      writeHead: (status: number) => calls.push(status),
      end: (body: string) => calls.push(JSON.parse(body)),
      destroy: () => calls.push('destroy'),
      ...response,
    }),
  };
  // The method of a filter, not of a promise.
  // oxlint-disable-next-line promise/valid-params
  filter.catch(failure, { switchToHttp: () => http } as unknown as ArgumentsHost);
  return calls;
}

describe('the filter', () => {
  it('answers with status, header fields and body of the failure', () => {
    expect(answerTo(new PlantStoreError(ERRORS.overloaded, 'too many plants'))).toEqual([
      { 'retry-after': '1' },
      503,
      { error: 50301, message: 'too many plants' },
    ]);
    expect(answerTo(new ConflictException('Another one'))).toEqual([
      {},
      409,
      { error: 40900, message: 'Another one' },
    ]);
    expect(log).toEqual([]);
  });

  it.each([new Error('secret'), new ServiceUnavailableException('try later')])(
    'logs a bug with all details: %s',
    (failure) => {
      answerTo(failure);
      expect(log).toMatchObject([
        { level: 'error', requestId: 'the-request', err: { message: failure.message } },
      ]);
    },
  );

  it('logs an outage with its reason', () => {
    const cause = new Error('connection refused');
    answerTo(new PlantStoreError(ERRORS.databaseUnavailable, undefined, { cause }));
    expect(log).toMatchObject([{ level: 'warn', error: 50300, reason: 'connection refused' }]);
  });

  it('sends no answer when the client disconnected before the end of its request', () => {
    expect(answerTo(new Error('aborted'), { destroyed: true, complete: false })).toEqual([]);
    expect(log).toEqual([]);
  });

  it('cuts a started answer short, because its status cannot change any more', () => {
    expect(answerTo(new Error('late'), {}, { headersSent: true })).toEqual(['destroy']);
    expect(log).toMatchObject([{ level: 'error' }]);
  });

  it('leaves a complete answer unchanged', () => {
    expect(answerTo(new Error('late'), {}, { headersSent: true, writableEnded: true })).toEqual([]);
  });
});
