import { ServiceUnavailableException } from '@nestjs/common';
import type { ArgumentsHost } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CONFIG } from '../../src/config/config.module.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { ErrorFilter } from '../../src/http/errors/error.filter.js';
import { IDENTITY } from '../support/identity.js';
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
    providers: [
      ErrorFilter,
      { provide: Metrics, useValue: new Metrics(IDENTITY) },
      { provide: CONFIG, useValue: { identity: IDENTITY } },
      { provide: LOGGER, useValue: logger },
    ],
  }).compile();
  filter = module.get(ErrorFilter);
});

beforeEach(() => {
  log = [];
});

/** Runs the filter, and returns the calls on the response. */
function answerTo(failure: unknown, response: object = {}): unknown[] {
  const calls: unknown[] = [];
  const http = {
    getRequest: () => ({ id: 'the-request', destroyed: false, complete: true }),
    getResponse: () => ({
      req: { httpVersion: '1.1' },
      headersSent: false,
      setHeaders: () => calls.push('setHeaders'),
      writeHead: () => calls.push('writeHead'),
      end: () => calls.push('end'),
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
    answerTo(new ServiceException(ERRORS.databaseUnavailable, undefined, { cause }));
    expect(log).toMatchObject([{ level: 'warn', error: 50300, reason: 'connection refused' }]);
  });

  it('leaves a complete answer unchanged', () => {
    expect(answerTo(new Error('late'), { headersSent: true, writableEnded: true })).toEqual([]);
  });
});
