import { ServiceUnavailableException } from '@nestjs/common';
import type { ArgumentsHost } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { levels } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { CONFIG } from '../../src/config/config.module.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { ErrorFilter } from '../../src/http/errors/error.filter.js';
import { IDENTITY } from '../support/identity.js';
import { createLogger, LOGGER } from '../../src/observability/logger.js';
import { Metrics } from '../../src/observability/metrics.js';

let filter: ErrorFilter;
let log: Record<string, unknown>[];

beforeEach(async () => {
  log = [];
  const logger = createLogger('info', {
    write: (line: string) => {
      const { level, ...others } = JSON.parse(line) as { readonly level: number };
      log.push({ ...others, level: levels.labels[level] });
    },
  });
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

/** Runs the filter, and returns the calls on the response. */
function answerTo(failure: unknown, response: object = {}): unknown[] {
  const calls: unknown[] = [];
  const http = {
    getRequest: () => ({ id: 'the-request', destroyed: false, complete: true }),
    getResponse: () => ({
      req: { httpVersion: '1.1' },
      headersSent: false,
      removeHeader: () => {},
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

function selfCaused(): Error {
  const failure = new Error('broken');
  failure.cause = failure;
  return failure;
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

  it.each<[string, () => unknown, object]>([
    ['of another library with a status', () => ({ status: 404 }), { type: 'Error' }],
    ['that is its own cause', selfCaused, { type: 'Error', cause: { type: 'Error' } }],
    ['with a text for a cause', () => ({ cause: 'secret' }), { cause: { type: 'string' } }],
    ['whose name is no text', () => ({ name: Symbol('secret') }), {}],
    ['whose message is no text', () => ({ message: null, code: 7n }), { type: 'Error', code: 7 }],
  ])('answers and logs an error %s', (_, make, err) => {
    const made = make();
    const failure = made instanceof Error ? made : Object.assign(new Error('broken'), made);
    expect(answerTo(failure)).toEqual(['setHeaders', 'writeHead', 'end']);
    expect(log).toMatchObject([{ level: 'error', error: 50000, err }]);
  });

  it.each([null, 'secret', 400, 7n, Symbol('secret'), { status: 404 }, () => {}])(
    'answers and logs %s, which is no error',
    (thrown) => {
      expect(answerTo(thrown)).toEqual(['setHeaders', 'writeHead', 'end']);
      expect(log).toMatchObject([{ level: 'error', error: 50000, err: { type: typeof thrown } }]);
      expect(JSON.stringify(log)).not.toContain('secret');
    },
  );

  it('answers and logs an error whose properties cannot be read', () => {
    const failure = new Error('broken');
    for (const property of ['stack', 'name', 'message', 'cause', 'code', 'status', 'type']) {
      Object.defineProperty(failure, property, {
        get: () => {
          throw new Error('secret');
        },
      });
    }
    expect(answerTo(failure)).toEqual(['setHeaders', 'writeHead', 'end']);
    expect(log).toMatchObject([{ level: 'error', error: 50000 }]);
  });

  it.each([
    ['with a line end', { 'X-Reason': 'secret\r\nSet-Cookie: a=b' }],
    ['with a character that is not in Latin-1', { 'X-Reason': 'secret, 5 €' }],
    ['without a valid name', { 'X Reason': 'secret' }],
  ])('sends an error without a header field %s, which it logs', (_, headers) => {
    const sent: unknown[] = [];
    const failure = new ServiceException(ERRORS.badRequest, undefined, {
      headers: { ...headers, 'X-Limit': '7' },
    });
    answerTo(failure, {
      setHeaders: (fields: Headers) => sent.push(...fields),
      writeHead: (status: number) => sent.push(status),
    });
    expect(sent).toEqual([['x-limit', '7'], 400]);
    expect(log).toMatchObject([{ level: 'error', error: 40000, err: { type: 'TypeError' } }]);
    expect(JSON.stringify(log)).toMatch(/X.Reason/);
    expect(JSON.stringify(log)).not.toContain('secret');
  });

  it('logs an outage with its reason', () => {
    const cause = new Error('connection refused');
    answerTo(new ServiceException(ERRORS.databaseUnavailable, undefined, { cause }));
    expect(log).toMatchObject([{ level: 'warn', error: 50300, reason: 'connection refused' }]);
  });

  it('does not report work that has ended because its client has left', () => {
    const reason: unknown = AbortSignal.abort().reason;
    expect(answerTo(reason, { closed: true })).toEqual([]);
    expect(log).toEqual([]);
    answerTo(reason);
    answerTo(new Error('broken'), { closed: true });
    expect(log).toMatchObject([{ level: 'error' }, { level: 'error' }]);
  });

  it('leaves a complete answer unchanged', () => {
    expect(answerTo(new Error('late'), { headersSent: true, writableEnded: true })).toEqual([]);
  });
});
