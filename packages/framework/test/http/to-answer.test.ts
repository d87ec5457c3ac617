import {
  BadGatewayException,
  BadRequestException,
  ConflictException,
  ForbiddenException,
  HttpException,
  ImATeapotException,
  InternalServerErrorException,
  NotFoundException,
  ServiceUnavailableException,
  UnauthorizedException,
} from '@nestjs/common';
import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { isOutage } from '../../src/database/database-failure.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { toAnswer } from '../../src/http/errors/to-answer.js';
import { describeFailure } from '../../src/observability/describe-failure.js';
import { ALL_ERRORS } from '../support/tool.js';

const INTERNAL = {
  status: 500,
  headers: {},
  body: { error: 50000, message: 'the service failed to handle the request' },
};

describe('the answer', () => {
  it.each(ALL_ERRORS)('to $code has its number, its status and its message', (kind) => {
    const { number, message } = kind;
    expect(toAnswer(new ServiceException(kind))).toMatchObject({
      status: Number(String(number).slice(0, 3)),
      body: { error: number, message },
    });
    expect(toAnswer(new ServiceException(kind, 'something precise')).body).toEqual({
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
    expect(toAnswer(thrown)).toEqual(INTERNAL);
  });

  it.each([
    [400, 40000],
    [404, 40400],
    [418, 40000],
  ])('to an error of Express with status %i has only the number %i', (status, error) => {
    const { body } = toAnswer(Object.assign(new URIError('secret'), { status }));
    expect(body.error).toBe(error);
    expect(body.message).not.toContain('secret');
  });

  it.each([
    [new BadRequestException('Choose another cat'), 400, 'Choose another cat'],
    [new BadRequestException(['no name', 'no age']), 400, 'no name; no age'],
    [new BadRequestException(), 400, 'Bad Request'],
    [new HttpException('Pay first', 402), 402, 'Pay first'],
    [new ForbiddenException(), 403, 'Forbidden'],
    [new HttpException({ status: 403, error: 'Not yours' }, 403), 403, 'Not yours'],
    [new NotFoundException('No such cat'), 404, 'No such cat'],
    [new ConflictException({ message: 'The cat changed' }), 409, 'The cat changed'],
    [new ImATeapotException({ spout: 'short' }), 418, 'Im Teapot Exception'],
    [new InternalServerErrorException(), 500, 'Internal Server Error'],
    [new BadGatewayException('The vet is out'), 502, 'The vet is out'],
    [new HttpException(new Error('secret') as never, 500), 500, 'Internal Server Error'],
  ])('to %s, thrown by a handler, has its status and message', (thrown, status, message) => {
    expect(toAnswer(thrown)).toMatchObject({ status, body: { error: status * 100, message } });
  });

  it('to an exception of Nest has the header fields of its status', () => {
    expect(toAnswer(new UnauthorizedException('Who?'), 'tool-library').headers).toEqual({
      'WWW-Authenticate': 'Bearer realm="tool-library"',
    });
    expect(toAnswer(new ServiceUnavailableException()).headers).toEqual({ 'Retry-After': '1' });
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

  it('is described without statement and values', () => {
    expect(describeFailure(databaseError('42703'))).toBe('message text decides nothing');
    expect(describeFailure(new AggregateError([new Error('a'), new Error('b')]))).toBe('a, b');
    expect(describeFailure('text')).toBe('text');
  });

  it.each(['28P01', '53300'])('with SQLSTATE %s is described without the role', (code) => {
    const failure = Object.assign(new DatabaseError('no room for "app"', 1, 'error'), { code });
    expect(describeFailure(failure)).toBe(`no room for … (${code})`);
  });

  it('without the role that Citus names, in one line', () => {
    const failure = new Error(
      'connection to the remote node postgres@10.0.0.7:5432 failed with the following error:\nConnection refused\n\tIs the server running?',
    );
    expect(describeFailure(failure)).toBe(
      'connection to the remote node 10.0.0.7:5432 failed with the following error: Connection refused Is the server running?',
    );
  });
});
