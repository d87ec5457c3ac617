import fc from 'fast-check';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import {
  DATABASE_URL,
  databaseServers,
  databaseUrl,
  databaseUrlMistakes,
  libpqMistakes,
} from '../../src/config/database-url.js';
import { readVariables } from '../../src/config/read-variable.js';
import { hostOf } from '../../src/database/connections/find-primary.js';

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
          const raw = `postgres://${user}:${password}@${list.join(',')}/tools`;
          expect(isAccepted(raw)).toBe(true);
          expect(databaseUrl(raw)).toBe(raw);
          expect(driven(raw)).toEqual(
            servers.map(([at, on]) => ({
              host: read(at),
              port: on ?? 5432,
              user: decodeURIComponent(user),
              password: decodeURIComponent(password),
              database: 'tools',
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
        const raw = `postgres://u:p@ignored/tools?host=${hosts}&port=${ports}`;
        expect(isAccepted(raw)).toBe(true);
        expect(driven(raw)).toMatchObject(servers.map(([at, on]) => ({ host: at, port: on })));
      }),
    );
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
});

describe('a database URL without a host in front of the path', () => {
  it('has its user, password and port, as in libpq', () => {
    fc.assert(
      fc.property(secret, secret, fc.option(port), (user, password, on) => {
        const raw = `postgres://${user}:${password}@${on === null ? '' : `:${on}`}/tools?host=/run/postgresql`;
        expect(isAccepted(raw)).toBe(true);
        expect(driven(databaseUrl(raw)!)).toEqual([
          {
            host: '/run/postgresql',
            port: on ?? 5432,
            user: decodeURIComponent(user),
            password: decodeURIComponent(password),
            database: 'tools',
          },
        ]);
      }),
    );
  });

  it.each([
    ['postgres://user@/db?host=/run/postgresql', '/run/postgresql:5432', 'user', 'db'],
    ['postgresql:///db?host=/tmp&user=user', '/tmp:5432', 'user', 'db'],
    ['postgresql://user@:5433/db?host=a.example', 'a.example:5433', 'user', 'db'],
    ['postgresql://user@?host=a.example', 'a.example:5432', 'user', 'user'],
    ['postgresql://:5433/db?host=::1&user=user', '[::1]:5433', 'user', 'db'],
    ['postgresql://other@/db?host=a&user=user&port=1', 'a:1', 'user', 'db'],
    ['postgresql://user@%2Frun%2Fpostgresql:5433/db', '/run/postgresql:5433', 'user', 'db'],
    ['postgres://user@/db?host=/run/a,b.example&port=1,2', '/run/a:1,b.example:2', 'user', 'db'],
  ])('is read as libpq does: %s', (raw, servers, user, database) => {
    expect(isAccepted(raw)).toBe(true);
    const url = databaseUrl(raw)!;
    expect(databaseServers(url).urls.map(hostOf).join()).toBe(servers);
    expect(driven(url)[0]).toMatchObject({ user, database });
  });
});

describe('any text', () => {
  const parts =
    'postgres:// postgresql:// @ : / , % %41 %ff %2F %00 %5B %c3%a4 [ ] ::1 ? host= port= & 5432 a db sslmode=require { < ^ .. \0';
  const piece = fc.oneof(fc.constantFrom(...parts.split(' ')), fc.string({ maxLength: 3 }));
  const text = fc
    .tuple(fc.constantFrom('', 'postgres://', 'postgresql://u:p@'), fc.array(piece))
    .map(([before, pieces]) => before + pieces.join(''));

  it('is refused with the name of the variable and the rule, or names servers', () => {
    fc.assert(
      fc.property(text, (raw) => {
        const { values, mistakes } = readVariables({ DATABASE_URL }, { DATABASE_URL: raw });
        expect(mistakes.every((mistake) => mistake.startsWith('DATABASE_URL must '))).toBe(true);
        if (mistakes.length > 0 || values.DATABASE_URL === undefined) return;
        for (const url of databaseServers(values.DATABASE_URL).urls) new Client(url);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a database URL', () => {
  it.each([
    ['postgres://u:p@a,b/d?port=5433', 'a:5433,b:5433'],
    ['postgres://u:p@a:1,b:2/d?port=3,4', 'a:3,b:4'],
    ['postgres://u:p@x:5433/d?host=a,b', 'a:5433,b:5433'],
    ['postgres://u:p@x:1,y:2/d?host=a,b', 'a:1,b:2'],
    ['postgres://u:p@a,%2Frun%2Fpostgresql/d', 'a:5432,/run/postgresql:5432'],
    ['postgresql://[::1],[fe80::2]:6/d', '[::1]:5432,[fe80::2]:6'],
    ['postgres://user:secret@a:1,b:2/d', 'a:1,b:2'],
  ])('has its ports as in libpq: %s', (raw, servers) => {
    expect(isAccepted(raw)).toBe(true);
    expect(databaseServers(raw).urls.map(hostOf).join()).toBe(servers);
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
    // The driver would read these in another way.
    'postgres://u:a b@h/d',
    'postgres://u:a%2Fb@h/d?options=-c search_path=x',
    'postgres://u:p@h\t/d',
    'postgres://u:5/x@h/d',
    'postgres://u:p@h/d#',
    'postgres://u:p@h/d?host=[::1]',
    'postgres://u:p@h/d?port=5432x',
    'postgres://u:p@h/d?port=0',
    'postgres://u:p@h/d?port=65536',
    'postgres://u:p@h/d?sslmode=require&sslmode=prefer',
  ])('is refused if it cannot be right: %s', (raw) => {
    expect(isAccepted(raw)).toBe(false);
  });

  it('has the last of several values of a parameter', () => {
    const raw = 'postgres://h/d?uselibpqcompat=true&sslmode=require&uselibpqcompat=false';
    expect(databaseUrl(raw)).toMatch(/[?&]sslmode=verify-full/);
  });

  it('keeps a dollar sign in its parameters', () => {
    const raw = 'postgres://h/d?password=a$&sslmode=require';
    expect(driven(databaseUrl(raw)!)).toMatchObject([{ password: 'a$' }]);
  });

  it('is left as it is if it has one host', () => {
    const raw = 'postgres://u:p%2C@[::1]:5/d?sslmode=verify-full&port=6';
    expect(databaseServers(raw).urls).toEqual([raw]);
  });

  it.each([
    ['postgres://a/d', false],
    ['postgres://a/d?target_session_attrs=primary', false],
    ['postgres://a/d?target_session_attrs=read-write', true],
    ['postgres://a,b/d', true],
    ['postgres://a,b/d?target_session_attrs=primary', false],
    ['postgres://a,b/d?target_session_attrs=read-write', true],
  ])('such as %s asks for sessions that can write: %s', (raw, mustWrite) => {
    expect(isAccepted(raw)).toBe(true);
    expect(databaseServers(raw).mustWrite).toBe(mustWrite);
  });

  it.each(['lock_timeout', 'idle_in_transaction_session_timeout'])(
    'has a number of milliseconds as its %s: the driver would take the digits at its beginning',
    (timeout) => {
      const mistakes = (value: string) => databaseUrlMistakes(`postgres://h/d?${timeout}=${value}`);
      for (const value of ['5s', '1min', 'abc', '-1', '1.5', '2147483648', '']) {
        expect(mistakes(value)).toEqual([`have a number of milliseconds as its ${timeout}`]);
      }
      for (const value of ['0', '5000', '2147483647']) expect(mistakes(value)).toEqual([]);
    },
  );
});

describe('sslrootcert=system', () => {
  it.each([
    '',
    '&sslmode=require',
    '&sslmode=verify-full',
    '&sslmode=verify-full&uselibpqcompat=true',
  ])('verifies certificates with the authorities of the machine: %s', (others) => {
    const raw = `postgres://h/d?sslrootcert=system${others}`;
    expect(isAccepted(raw)).toBe(true);
    const { ssl } = new Client(databaseUrl(raw)) as Client & { ssl: unknown };
    expect(ssl).toEqual({});
  });

  it.each([
    'sslmode=disable',
    'sslmode=no-verify',
    'sslmode=verify-ca&uselibpqcompat=true',
    'ssl=0',
  ])('is refused with %s, as in libpq', (others) => {
    const raw = `postgres://h/d?sslrootcert=system&${others}`;
    expect(databaseUrlMistakes(raw)).toEqual(['have sslmode=verify-full with sslrootcert=system']);
  });

  it('is a file if the path has a folder', () => {
    expect(databaseUrl('postgres://h/d?sslrootcert=./system')).toContain('system');
  });
});

describe('the variables of libpq', () => {
  const ONE_HOST = 'PGHOST must be one host: several belong in DATABASE_URL';
  const PORT = 'PGPORT must be a port from 1 to 65535';
  const MODE = expect.stringMatching(/^PGSSLMODE must be one of /) as string;

  it.each<[string | undefined, Record<string, string>, string[]]>([
    ['postgres://h/d', { PGSSLMODE: 'allow' }, [MODE]],
    ['postgres://h/d', { PGSSLMODE: 'prefer' }, [MODE]],
    ['postgres://h/d', { PGSSLMODE: 'secret' }, [MODE]],
    ['postgres:///d', { PGHOST: 'a,b' }, [ONE_HOST]],
    ['postgres:///d', { PGHOST: 'a b', PGPORT: '1,2' }, [ONE_HOST, PORT]],
    ['postgres://h/d', { PGPORT: 'abc' }, [PORT]],
    ['postgres://h/d', { PGPORT: '5432x' }, [PORT]],
    ['postgres://h:1,i/d', { PGPORT: '0' }, [PORT]],
    ['postgres://h/d', { PGREPLICATION: 'database' }, ['PGREPLICATION must not be set']],
    // What does not count may be anything.
    [undefined, { PGSSLMODE: 'prefer' }, []],
    ['postgres://h/d', { PGSSLMODE: '' }, []],
    ['postgres://h/d', { PGSSLMODE: 'verify-full' }, []],
    ['postgres://h/d?sslmode=disable', { PGSSLMODE: 'prefer' }, []],
    ['postgres://h/d?ssl=0', { PGSSLMODE: 'prefer' }, []],
    [undefined, { PGHOST: 'a,b', PGPORT: 'abc' }, []],
    ['postgres:///d', { PGHOST: '/run/postgresql', PGPORT: '5433' }, []],
    ['postgres:///d', { PGHOST: '', PGPORT: '' }, []],
    ['postgres:///d?host=/run/postgresql&port=1', { PGHOST: 'a,b', PGPORT: 'abc' }, []],
    ['postgres://h:1/d', { PGHOST: 'a,b', PGPORT: 'abc' }, []],
  ])(
    'of which the driver would take a part are refused: %s with %j',
    (url, variables, mistakes) => {
      expect(libpqMistakes(url, variables)).toEqual(mistakes);
    },
  );
});
