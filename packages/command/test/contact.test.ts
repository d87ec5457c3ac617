import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import {
  CommandError,
  EXIT,
  exitCodeOf,
  explain,
  textOf,
  usageError,
} from '../src/command-error.js';
import { sentenceFor } from '../src/connection/http.js';
import { ownService } from '../src/connection/connection.js';
import { IDENTITY } from './support/tool-library.js';

const NAME = 'tool-library';

const running = new AbortController().signal;

function systemError(code: string, message = code): Error {
  return Object.assign(new Error(message), { code, syscall: 'connect' });
}

describe('a connection that fails', () => {
  it.each([
    ['http://store.test', 'ECONNREFUSED', 'store.test:80 refuses connections (ECONNREFUSED)'],
    ['https://store.test', 'ECONNREFUSED', 'store.test:443 refuses connections (ECONNREFUSED)'],
    ['http://[::1]:3000', 'ECONNREFUSED', '[::1]:3000 refuses connections (ECONNREFUSED)'],
    ['http://store.test:3000', 'ENOTFOUND', 'the host store.test is unknown (ENOTFOUND)'],
    ['http://store.test', 'EAI_AGAIN', 'the host store.test cannot be looked up (EAI_AGAIN)'],
  ])('to %s with %s is explained', (url, code, sentence) => {
    expect(sentenceFor(url, systemError(code))).toBe(sentence);
  });

  it('for another reason is explained by its message, or by its code if it has no message', () => {
    const url = 'http://store.test:3000';
    expect(sentenceFor(url, systemError('EPROTO', 'wrong version number'))).toBe(
      'no connection to store.test:3000: wrong version number',
    );
    expect(sentenceFor(url, systemError('ETIMEDOUT', ''))).toBe(
      'no connection to store.test:3000: ETIMEDOUT',
    );
  });
});

describe('the end of the command', () => {
  const interrupted = AbortSignal.abort('SIGINT');
  const brokenPipe = systemError('EPIPE');
  const bug = new TypeError('a bug');

  it.each([
    ['an interrupt', bug, interrupted, 128 + constants.signals.SIGINT],
    ['a reader that has gone', brokenPipe, running, 128 + constants.signals.SIGPIPE],
    ['wrong usage', usageError('no such option'), running, EXIT.usage],
    [
      'refused records',
      new CommandError(EXIT.refused, '2 records are refused'),
      running,
      EXIT.refused,
    ],
    ['any other failure', bug, running, EXIT.incomplete],
  ])('after %s has its own exit code', (_name, error, signal, code) => {
    expect(exitCodeOf(error, signal)).toBe(code);
  });

  it('says what happened, with a stack only for a bug', () => {
    expect(explain(bug, interrupted, NAME)).toBe('tool-library: interrupted');
    expect(explain(brokenPipe, running, NAME)).toBe('');
    expect(explain(usageError('no such option'), running, NAME)).toBe(
      'tool-library: no such option',
    );
    expect(explain(systemError('ENOSPC', 'no space left'), running, NAME)).toBe(
      'tool-library: no space left',
    );
    expect(explain(bug, running, NAME)).toMatch(/^tool-library: TypeError: a bug\n {4}at /);
  });

  it('names the number of an Error, if the service has answered one', () => {
    expect(textOf({ error: 40009, message: 'taken' })).toBe('40009 taken');
    expect(textOf({ message: 'no id' })).toBe('no id');
  });
});

describe('the service beside the command', () => {
  const database = { DATABASE_URL: 'postgres://tools@db.test/tools' };
  const token = { AUTH_TOKEN: 'a-token-of-more-than-thirty-two-characters' };

  it('has the address and the token of its variables', () => {
    expect(ownService(IDENTITY, { ...database, ...token, PORT: '8080' })).toEqual({
      url: 'http://localhost:8080',
      token: token.AUTH_TOKEN,
    });
  });

  it('can listen on IPv6', () => {
    const variables = { ...database, ...token, HOST: '2001:db8::1', PORT: '8080' };
    expect(ownService(IDENTITY, variables)?.url).toBe('http://[2001:db8::1]:8080');
  });

  it('has no token if it accepts only tokens of an issuer', () => {
    const jwt = { AUTH_JWT_ISSUER: 'https://issuer.test', AUTH_JWT_AUDIENCE: 'tools' };
    expect(ownService(IDENTITY, { ...database, ...jwt })).toMatchObject({ token: undefined });
  });

  it.each([
    ['no database is named', token],
    ['no tokens are accepted', database],
    ['its port is random', { ...database, ...token, PORT: '0' }],
    ['its variables are wrong', { ...database, ...token, PORT: 'http' }],
  ])('is unknown if %s', (_name, variables) => {
    expect(ownService(IDENTITY, variables)).toBeUndefined();
  });
});
