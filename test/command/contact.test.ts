import { describe, expect, it } from 'vitest';
import { EXIT, exitCodeOf, explain } from '../../clients/command/command-error.js';
import { Contact } from '../../clients/command/contact.js';
import { ownService } from '../../clients/command/own-service.js';

function systemError(code: string, message = code): Error {
  return Object.assign(new Error(message), { code, syscall: 'connect' });
}

describe('a connection that fails', () => {
  const sentenceOf = (url: string, error: Error) =>
    new Contact(url, 5_000).attempt(() => undefined).failure(error).message;

  it.each([
    ['http://store.test', 'ECONNREFUSED', 'store.test:80 refuses connections (ECONNREFUSED)'],
    ['https://store.test', 'ECONNREFUSED', 'store.test:443 refuses connections (ECONNREFUSED)'],
    ['http://[::1]:3000', 'ECONNREFUSED', '[::1]:3000 refuses connections (ECONNREFUSED)'],
    ['http://store.test:3000', 'ENOTFOUND', 'the host store.test is unknown (ENOTFOUND)'],
    ['http://store.test', 'EAI_AGAIN', 'the host store.test cannot be looked up (EAI_AGAIN)'],
  ])('to %s with %s is explained', (url, code, sentence) => {
    expect(sentenceOf(url, systemError(code))).toBe(sentence);
  });

  it('for another reason is explained by its message, or by its code if it has no message', () => {
    const url = 'http://store.test:3000';
    expect(sentenceOf(url, systemError('EPROTO', 'wrong version number'))).toBe(
      'no connection to store.test:3000: wrong version number',
    );
    expect(sentenceOf(url, systemError('ETIMEDOUT', ''))).toBe(
      'no connection to store.test:3000: ETIMEDOUT',
    );
  });

  it('stays as it is if the command was interrupted', () => {
    const attempt = new Contact('http://store.test', 5_000).attempt(() => undefined);
    const interrupted = Object.assign(new Error('interrupted'), { name: 'AbortError' });
    expect(attempt.failure(interrupted)).toBe(interrupted);
    attempt.end();
  });
});

it('a bug is told with its stack', () => {
  const { signal } = new AbortController();
  const bug = new TypeError('a bug');
  expect(explain(bug, signal)).toMatch(/^plant-store: TypeError: a bug\n {4}at /);
  expect(exitCodeOf(bug, signal)).toBe(EXIT.incomplete);
});

describe('the service beside the command', () => {
  const database = { DATABASE_URL: 'postgres://plants@db.test/plants' };
  const token = { AUTH_TOKEN: 'a-token-of-more-than-thirty-two-characters' };

  it('can listen on IPv6', () => {
    const variables = { ...database, ...token, HOST: '2001:db8::1', PORT: '8080' };
    expect(ownService(variables)?.url).toBe('http://[2001:db8::1]:8080');
  });

  it('has no token if it accepts only tokens of an issuer', () => {
    const jwt = { AUTH_JWT_ISSUER: 'https://issuer.test', AUTH_JWT_AUDIENCE: 'plants' };
    expect(ownService({ ...database, ...jwt })).toMatchObject({ token: undefined });
  });

  it.each([
    ['no database is named', token],
    ['no tokens are accepted', database],
    ['its port is random', { ...database, ...token, PORT: '0' }],
    ['its variables are wrong', { ...database, ...token, PORT: 'http' }],
  ])('is unknown if %s', (_name, variables) => {
    expect(ownService(variables)).toBeUndefined();
  });
});
