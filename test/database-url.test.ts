import fc from 'fast-check';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { databaseServers, databaseUrl, databaseUrlMistakes } from '../src/config/database-url.js';
import { hostOf } from '../src/database/connections/find-primary.js';

/** What the driver makes of each URL. */
function driven(raw: string): object[] {
  return databaseServers(raw).urls.map((url) => {
    const { host, port, user, password, database } = new Client(url);
    return { host, port, user, password, database };
  });
}

function isAccepted(raw: string): boolean {
  return databaseUrl(raw) !== undefined && databaseUrlMistakes(raw).length === 0;
}

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}(\.[a-z][a-z0-9-]{0,10}){0,2}$/);
const host = fc.oneof(name, fc.ipV4(), fc.ipV6());
const port = fc.integer({ min: 1, max: 65_535 });
/** Anything that a password can contain, percent-encoded. */
const secret = fc.string({ minLength: 1, unit: 'grapheme' }).map(encodeURIComponent);

const bracketed = (text: string) => (text.includes(':') ? `[${text}]` : text);
/** As a driver reads an address. */
const read = (text: string) => new URL(`x://${bracketed(text)}`).hostname.replace(/^\[|\]$/g, '');

describe('a database URL with several hosts', () => {
  it('has one URL for each host and port, with the same credentials and database', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(host, fc.option(port)), { minLength: 2, maxLength: 5 }),
        secret,
        secret,
        (servers, user, password) => {
          const list = servers.map(([at, on]) => bracketed(at) + (on === null ? '' : `:${on}`));
          const raw = `postgres://${user}:${password}@${list.join(',')}/plants`;
          expect(isAccepted(raw)).toBe(true);
          expect(databaseUrl(raw)).toBe(raw);
          expect(driven(raw)).toEqual(
            servers.map(([at, on]) => ({
              host: read(at),
              port: on ?? 5432,
              user: decodeURIComponent(user),
              password: decodeURIComponent(password),
              database: 'plants',
            })),
          );
        },
      ),
    );
  });

  it('can have its hosts and ports in parameters', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(host, port), { minLength: 2, maxLength: 5 }), (servers) => {
        const hosts = servers.map(([at]) => at).join(',');
        const ports = servers.map(([, on]) => on).join(',');
        const raw = `postgres://u:p@ignored/plants?host=${hosts}&port=${ports}`;
        expect(isAccepted(raw)).toBe(true);
        expect(driven(raw)).toMatchObject(servers.map(([at, on]) => ({ host: at, port: on })));
      }),
    );
  });

  it.each([
    ['postgres://u:p@a,b/d?port=5433', ['a:5433', 'b:5433']],
    ['postgres://u:p@a:1,b:2/d?port=3,4', ['a:3', 'b:4']],
    ['postgres://u:p@x:5433/d?host=a,b', ['a:5433', 'b:5433']],
    ['postgres://u:p@x:1,y:2/d?host=a,b', ['a:1', 'b:2']],
    ['postgres://u:p@a,%2Frun%2Fpostgresql/d', ['a:5432', '/run/postgresql:5432']],
    ['postgresql://[::1],[fe80::2]:6/d', ['[::1]:5432', '[fe80::2]:6']],
  ])('assigns the ports as libpq does: %s', (raw, expected) => {
    expect(isAccepted(raw)).toBe(true);
    expect(databaseServers(raw).urls.map(hostOf)).toEqual(expected);
  });

  it.each([
    'postgres://u:p@a:1,b:x/d',
    'postgres://u:p@a:1,b:99999/d',
    'postgres://u:p@a,[::1/d',
    'postgres://u:p@a,,b/d',
    'postgres://u:p@a,b,/d',
    'postgres://u:p@a,-!-/d',
    'postgres://u:p@a,b,c/d?port=1,2',
    'postgres://u:p@a:1,b:2/d?host=c,d,e',
    'postgres://u:p@a,b/d?port=1,2,3',
    'postgres://u:p@a,b/d?target_session_attrs=standby',
    'postgres://u:p@a,b/d?target_session_attrs=any',
    // The password "5,b/x", not encoded.
    'postgres://u:5,b/x@host/d',
  ])('is refused if it cannot be right: %s', (raw) => {
    expect(isAccepted(raw)).toBe(false);
  });

  it('has the TLS parameters for each host, which the driver verifies', () => {
    const raw = databaseUrl('postgres://a,b/d?sslmode=require&application_name=x,y');
    expect(raw).toBe('postgres://a,b/d?sslmode=verify-full&application_name=x%2Cy');
    for (const url of databaseServers(raw!).urls) {
      const client = new Client(url) as Client & { ssl: unknown };
      expect(client.ssl).toEqual({});
      expect(url).toContain('application_name=x%2Cy');
    }
  });

  it('names its hosts and ports without user and password', () => {
    expect(databaseServers('postgres://user:secret@a:1,b:2/d').urls.map(hostOf).join()).toBe(
      'a:1,b:2',
    );
  });
});

describe('target_session_attrs', () => {
  it.each([
    ['postgres://a/d', false],
    ['postgres://a/d?target_session_attrs=primary', false],
    ['postgres://a/d?target_session_attrs=read-write', true],
    ['postgres://a,b/d', true],
    ['postgres://a,b/d?target_session_attrs=primary', false],
    ['postgres://a,b/d?target_session_attrs=read-write', true],
  ])('of %s asks for sessions that can write: %s', (raw, mustWrite) => {
    expect(isAccepted(raw)).toBe(true);
    expect(databaseServers(raw).mustWrite).toBe(mustWrite);
  });
});

describe('a database URL with one host', () => {
  it('is left as it is', () => {
    const raw = 'postgres://u:p%2C@[::1]:5/d?sslmode=verify-full&port=6';
    expect(databaseServers(raw).urls).toEqual([raw]);
  });
});
