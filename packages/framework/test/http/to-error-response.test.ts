import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  BadGatewayException,
  BadRequestException,
  ConflictException,
  ForbiddenException,
  GatewayTimeoutException,
  GoneException,
  HttpException,
  ImATeapotException,
  InternalServerErrorException,
  MethodNotAllowedException,
  NotFoundException,
  NotImplementedException,
  PayloadTooLargeException,
  PreconditionFailedException,
  RequestTimeoutException,
  ServiceUnavailableException,
  UnauthorizedException,
  UnprocessableEntityException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import express from 'express';
import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { isOutage } from '../../src/database/database-error.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { allErrors } from '../../src/errors/error-kind.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { toErrorResponse } from '../../src/http/errors/to-error-response.js';
import { describeError } from '../../src/observability/describe-error.js';
import { idempotencyErrors } from '../../src/resources/idempotency/idempotency-errors.js';
import { ALL_ERRORS } from '../support/tool.js';

/** An object one of whose properties cannot be read. */
function unreadable(error: Error, property: string): Error {
  return Object.defineProperty(error, property, {
    get: () => {
      throw new Error('secret');
    },
  });
}

function nothing(): object {
  return Object.create(null) as object;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const INTERNAL = {
  status: 500,
  headers: {},
  body: { error: 50000, message: 'the service failed to handle the request' },
};

describe('the response', () => {
  it.each(ALL_ERRORS)('to $code has its number, its status and its message', (kind) => {
    const { number, message } = kind;
    expect(toErrorResponse(new ServiceException(kind))).toMatchObject({
      status: Number(String(number).slice(0, 3)),
      body: { error: number, message },
    });
    expect(toErrorResponse(new ServiceException(kind, 'something precise')).body).toEqual({
      error: number,
      message: 'something precise',
    });
  });

  it.each([
    ['a string', 'secret'],
    ['nothing', undefined],
    ['null', null],
    ['a number', 400],
    ['an object with a status', { status: 400, message: 'secret' }],
    ['an error', new Error('secret')],
    ['an error with a strange status', Object.assign(new Error('secret'), { status: 200 })],
    ['an exception with a status that HTTP does not have', new HttpException('secret', 700)],
  ])('to %s thrown says only that the service failed', (_, thrown) => {
    expect(toErrorResponse(thrown)).toEqual(INTERNAL);
  });

  it('to a path that the router of Express cannot decode has only the number 40000', () => {
    const { body } = toErrorResponse(Object.assign(new URIError('secret'), { status: 400 }));
    expect(body).toEqual({ error: 40000, message: 'the request is malformed' });
  });

  it.each([
    ['charset.unsupported', 415, 41500],
    ['encoding.unsupported', 415, 41500],
    ['entity.parse.failed', 400, 40000],
    ['entity.too.large', 413, 41300],
    ['entity.verify.failed', 403, 40319],
    ['parameters.too.many', 413, 41300],
    ['querystring.parse.rangeError', 400, 40000],
    ['request.aborted', 400, 40000],
    ['request.size.invalid', 400, 40000],
  ])('to the failure %s of a reader of bodies has its status %i', (type, status, error) => {
    const failure = Object.assign(new Error('secret'), { type, status, statusCode: status });
    const response = toErrorResponse(failure);
    expect(response).toMatchObject({ status, body: { error } });
    expect(response.body.message).not.toContain('secret');
    expect(toErrorResponse(Object.assign(failure, { status: 404 }))).toEqual(INTERNAL);
  });

  it('to a body that Express itself refuses has its status', async () => {
    const read = (body: string, options: object): Promise<unknown> => {
      const request = Object.assign(Readable.from([Buffer.from(body)]), {
        headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
      });
      const response = {} as ServerResponse;
      return new Promise((resolve) =>
        express.json(options)(request as unknown as IncomingMessage, response, resolve),
      );
    };
    expect(toErrorResponse(await read('{', {})).body.error).toBe(40000);
    expect(toErrorResponse(await read('{"a":"b"}', { limit: 1 })).body.error).toBe(41300);
  });

  it.each([
    [
      'a file that is missing for a reason of its own',
      { code: 'ENOENT', syscall: 'open', status: 404 },
    ],
    ['a file that is missing', { code: 'ENOENT', syscall: 'stat' }],
    ['a middleware with a text of its own', { status: 403, statusCode: 403, expose: true }],
    ['a client of HTTP', { status: 404, response: { status: 404, data: { message: 'secret' } } }],
    ['a client of GitHub', { status: 422, name: 'HttpError', request: {}, response: {} }],
    ['a client of a cloud', { $metadata: { httpStatusCode: 400 }, statusCode: 400, status: 400 }],
    ['an express middleware', { status: 403, statusCode: 403, expose: true, type: 'forbidden' }],
    ['a library with a list of types', { status: 400, type: ['entity.parse.failed'] }],
    ['a library that writes statuses as texts', { status: '400' }],
    ['a path with another status', Object.assign(new URIError('secret'), { status: 404 })],
  ])('to an error of %s says only that the service failed', (_, members) => {
    expect(toErrorResponse(Object.assign(new Error('secret'), members))).toEqual(INTERNAL);
  });

  it.each<[string, () => unknown]>([
    ['a status that cannot be read', () => unreadable(new Error('secret'), 'status')],
    ['an exception without a status', () => unreadable(new NotFoundException(), 'getStatus')],
    ['an exception without a response', () => unreadable(new NotFoundException(), 'getResponse')],
    ['an error without a class', () => Object.setPrototypeOf(new Error('secret'), nothing())],
    ['an object without a class', () => Object.create(null)],
    ['an object that is no more', revoked],
  ])('to %s says only that the service failed', (_, make) => {
    expect(toErrorResponse(make())).toEqual(INTERNAL);
  });

  it.each([
    [new BadRequestException('Choose another cat'), 400, 40000, 'Choose another cat'],
    [new BadRequestException(['no name', 'no age']), 400, 40000, 'no name; no age'],
    [new BadRequestException(), 400, 40000, 'Bad Request'],
    [new UnauthorizedException('Log in again'), 401, 40119, 'Log in again'],
    [new HttpException('Pay first', 402), 402, 40200, 'Pay first'],
    [new ForbiddenException(), 403, 40319, 'Forbidden'],
    [new HttpException({ status: 403, error: 'Not yours' }, 403), 403, 40319, 'Not yours'],
    [new NotFoundException('No such cat'), 404, 40419, 'No such cat'],
    [new MethodNotAllowedException('Never'), 405, 40519, 'Never'],
    [new RequestTimeoutException('It took too long'), 408, 40819, 'It took too long'],
    [new ConflictException({ message: 'The cat changed' }), 409, 40900, 'The cat changed'],
    [new GoneException('The cat left'), 410, 41019, 'The cat left'],
    [new PreconditionFailedException('Feed it first'), 412, 41219, 'Feed it first'],
    [new PayloadTooLargeException('File too large'), 413, 41319, 'File too large'],
    [new UnsupportedMediaTypeException('No pictures'), 415, 41519, 'No pictures'],
    [new ImATeapotException({ spout: 'short' }), 418, 41800, 'Im Teapot Exception'],
    [new UnprocessableEntityException('Too fat'), 422, 42219, 'Too fat'],
    [new HttpException('Too many cats', 429), 429, 42919, 'Too many cats'],
    [new HttpException('Not for you', 451), 451, 45100, 'Not for you'],
    [new HttpException('Nobody knows this one', 499), 499, 49900, 'Nobody knows this one'],
    [new InternalServerErrorException(), 500, 50000, 'Internal Server Error'],
    [new NotImplementedException('Later'), 501, 50100, 'Later'],
    [new BadGatewayException('The vet is out'), 502, 50200, 'The vet is out'],
    [new ServiceUnavailableException('Asleep'), 503, 50319, 'Asleep'],
    [new GatewayTimeoutException('Still asleep'), 504, 50400, 'Still asleep'],
    [new HttpException(new Error('secret') as never, 500), 500, 50000, 'Internal Server Error'],
    [new HttpException(new Error('secret') as never, 404), 404, 40419, 'Not Found'],
  ])('to %s, thrown by a handler, has its status and message', (thrown, status, error, message) => {
    expect(toErrorResponse(thrown)).toMatchObject({ status, body: { error, message } });
  });

  it('to an exception of Nest never has a number with another meaning', () => {
    const general = [ERRORS.badRequest, ERRORS.internal];
    const precise = new Set(
      [...allErrors(), ...Object.values(idempotencyErrors())].map(({ number }) => number),
    );
    for (const { number } of general) precise.delete(number);
    for (let status = 400; status < 600; status += 1) {
      const { body } = toErrorResponse(new HttpException('Something else', status));
      expect(precise).not.toContain(body.error);
      expect(Math.floor(body.error / 100)).toBe(status);
    }
  });

  it('to an exception of a second copy of Nest has its status and message', () => {
    class Namesake extends Error {
      readonly status = 404;
    }
    Object.defineProperty(Namesake, 'name', { value: 'HttpException' });
    expect(toErrorResponse(new Namesake('secret'))).toEqual(INTERNAL);
    class OtherHttpException extends Error {
      readonly status = 404;
    }
    Object.defineProperty(OtherHttpException, 'name', { value: 'HttpException' });
    Object.assign(OtherHttpException.prototype, {
      getStatus: () => 404,
      getResponse: () => ({ message: 'No such cat', statusCode: 404 }),
    });
    class OtherNotFoundException extends OtherHttpException {}
    expect(toErrorResponse(new OtherNotFoundException())).toMatchObject({
      status: 404,
      body: { error: 40419, message: 'No such cat' },
    });
  });

  it('to an exception of Nest has the header fields of its status', () => {
    expect(toErrorResponse(new ForbiddenException('Not yours'), 'tool-library').headers).toEqual({
      'WWW-Authenticate': 'Bearer realm="tool-library"',
    });
    expect(toErrorResponse(new UnauthorizedException('Who?'), 'tool-library').headers).toEqual({
      'WWW-Authenticate': 'Bearer realm="tool-library"',
    });
    expect(toErrorResponse(new ServiceUnavailableException()).headers).toEqual({
      'Retry-After': '1',
    });
  });
});

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('message text decides nothing', 1, 'error'), { code });
}

describe('a failure of the database', () => {
  const OUTAGES =
    '08006 25006 25P03 25P04 28P01 3D000 40001 40P01 42501 53100 53300 55P03 57014 57P01 57P02 57P03 58030 XX001';

  it.each(OUTAGES.split(' '))('with SQLSTATE %s is an outage', (code) => {
    expect(isOutage(databaseError(code))).toBe(true);
  });

  it.each(['22021', '23505', '42703', '42P01'])('with SQLSTATE %s is a bug', (code) => {
    expect(isOutage(databaseError(code))).toBe(false);
  });

  it('that protects the numbers of transactions is an outage, unlike a row that is too large', () => {
    const failure = (routine: string) => Object.assign(databaseError('54000'), { routine });
    expect(isOutage(failure('GetNewTransactionId'))).toBe(true);
    expect(isOutage(failure('GetNewMultiXactId'))).toBe(true);
    expect(isOutage(failure('index_form_tuple'))).toBe(false);
  });

  it('of a row that a policy refuses is no outage, unlike a missing privilege', () => {
    const failure = Object.assign(databaseError('42501'), { routine: 'ExecWithCheckOptions' });
    expect(isOutage(failure)).toBe(false);
  });

  it('without a SQLSTATE is a failed connection, unless it is a bug', () => {
    expect(isOutage(new Error('timeout exceeded when trying to connect'))).toBe(true);
    expect(isOutage(new AggregateError([new Error('connect ECONNREFUSED')]))).toBe(true);
    expect(isOutage(new Error('Connection terminated'))).toBe(true);
    for (const bug of [
      new TypeError('x'),
      new RangeError('x'),
      new ReferenceError('x'),
      'x',
      null,
    ]) {
      expect(isOutage(bug)).toBe(false);
    }
  });

  it('is described whatever it is', () => {
    const several = new AggregateError([]);
    several.errors.push(several);
    for (const thrown of [
      several,
      nothing(),
      revoked(),
      unreadable(new Error(), 'message'),
      Object.assign(new Error(), { message: {} }),
    ]) {
      expect(describeError(thrown)).toBe('an error that cannot be described');
    }
    expect([undefined, null, Symbol('x'), 7n].map(describeError)).toEqual([
      'undefined',
      'null',
      'Symbol(x)',
      '7',
    ]);
  });

  it('is described without statement and values', () => {
    expect(describeError(databaseError('42703'))).toBe('message text decides nothing');
    expect(describeError(new AggregateError([new Error('a'), new Error('b')]))).toBe('a, b');
    expect(describeError('text')).toBe('text');
  });

  it.each(['28P01', '53300'])('with SQLSTATE %s is described without the role', (code) => {
    const failure = Object.assign(new DatabaseError('no room for "app"', 1, 'error'), { code });
    expect(describeError(failure)).toBe(`no room for … (${code})`);
  });

  it('without the role that Citus names, in one line', () => {
    const failure = new Error(
      'connection to the remote node postgres@10.0.0.7:5432 failed with the following error:\nConnection refused\n\tIs the server running?',
    );
    expect(describeError(failure)).toBe(
      'connection to the remote node 10.0.0.7:5432 failed with the following error: Connection refused Is the server running?',
    );
  });
});
