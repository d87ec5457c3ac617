import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCommandConfig, readConfig, withDatabase } from '../../src/config/config.js';
import type { Variable } from '../../src/config/read-variable.js';
import { EXPORTER_VARIABLES, SDK_VARIABLES } from '../../src/config/telemetry-variables.js';
import { VARIABLES } from '../../src/config/variables.js';
import { StartupError } from '../../src/errors/startup.error.js';
import { IDENTITY } from '../support/identity.js';

const TOKEN = 'x'.repeat(32);
const DATABASE_URL = 'postgres://user:password@db.example:5432/tools';

/** Of all variables, with those that name files. */
const NAMES = Object.entries(VARIABLES).flatMap(([name, variable]) =>
  'file' in variable ? [name, `${name}_FILE`] : [name],
);

function mistakesOf(environment: Record<string, string>): string[] {
  try {
    readConfig(IDENTITY, environment);
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.message.split('\n');
  }
}

/** Values of a row, of which each can have spaces. */
function listed(values: string | undefined): readonly string[] {
  return values?.split(' | ') ?? [];
}

describe('the configuration', () => {
  it('has the documented defaults', () => {
    expect(readConfig(IDENTITY, {})).toEqual({
      identity: IDENTITY,
      http: {
        host: '127.0.0.1',
        port: 3000,
        publicBaseUrl: undefined,
        basePath: '',
        bodyLimit: 1024 ** 2,
        corsOrigins: [],
        keepAlive: 620_000,
        docsEnabled: true,
        trustProxy: undefined,
      },
      management: { host: '127.0.0.1', port: 3001 },
      database: { url: undefined, poolMax: 10, migrateOnStart: true },
      auth: { token: undefined, previousToken: undefined, issuedTokens: true, jwt: undefined },
      rateLimits: { perPrincipal: 0 },
      secretFiles: {},
      changes: { enabled: undefined, retention: 90 * 86_400_000 },
      logLevel: 'info',
      logFormat: undefined,
      shutdownDelay: 0,
      variables: {},
    });
  });

  it.each(['', '  ', '\r\n'])('treats the variable %j as unset', (value) => {
    const names = NAMES.filter((name) => name !== 'DATABASE_SERVICE_PASSWORD');
    const empty = Object.fromEntries(names.map((name) => [name, value]));
    expect(readConfig(IDENTITY, empty)).toEqual(readConfig(IDENTITY, {}));
  });

  const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n', '\ufeff') });

  it('leaves out what shells and editors leave around a value', () => {
    const values: Readonly<Record<string, string>> = {
      NODE_ENV: 'production',
      HOST: '::1',
      PORT: '80',
      DATABASE_URL,
      DATABASE_SCHEMA: 'tools',
      DATABASE_POOL_MAX: '3',
      DATABASE_MIGRATE_ON_START: 'false',
      DATABASE_SERVICE_ROLE: 'service',
      AUTH_TOKEN: TOKEN,
      AUTH_JWT_ISSUER: 'https://id.example',
      AUTH_JWT_AUDIENCE: 'tools',
      AUTH_JWT_JWKS_URI: 'https://id.example/keys',
      AUTH_JWT_DEFAULT_SCOPES: 'tools:read',
      CHANGES_RETENTION: '7d',
      PUBLIC_BASE_URL: 'https://shop.example.com/api',
      BODY_LIMIT: '2kb',
      CORS_ORIGINS: 'https://a.example,https://b.example',
      LOG_LEVEL: 'warn',
      TRUST_PROXY: 'loopback',
      SHUTDOWN_DELAY: '5',
    };
    const expected = readConfig(IDENTITY, values);
    fc.assert(
      fc.property(space, space, (before, after) => {
        const spaced = Object.entries(values).map(([name, text]) => [name, before + text + after]);
        expect(readConfig(IDENTITY, Object.fromEntries(spaced) as Record<string, string>)).toEqual(
          expected,
        );
      }),
    );
  });

  it('has a database in production, also if a space follows the name', () => {
    expect(mistakesOf({ NODE_ENV: 'production ', AUTH_TOKEN: TOKEN })).toEqual([
      'DATABASE_URL must be set when NODE_ENV is production',
    ]);
  });

  it('keeps the spaces of a password', () => {
    const role = { DATABASE_SERVICE_ROLE: 'service', DATABASE_SERVICE_PASSWORD: ' secret ' };
    expect(readCommandConfig(role).serviceRole?.password).toBe(' secret ');
  });

  it.each([
    [
      'ENDPOINT',
      'http://127.0.0.1:4318 | https://otel.example/x/',
      '127.0.0.1:4318 | localhost:4318 | grpc://otel:4317 | http://otel:4318  | http://otel?x | http://u:p@otel',
    ],
    ['PROTOCOL', 'http/json | http/protobuf', 'grpc | json'],
    [
      'HEADERS',
      'authorization=Bearer%20x | a=1, b=2 | a=1;note=50%',
      'authorization | a=1,b | =x | a=%zz | Authorization:Basic%20dXNlcjpwYXNz== | na(me)=v | x-a=b%0Ac',
    ],
    ['TIMEOUT', '10000', '10s | 0 | -1'],
    ['COMPRESSION', 'gzip | none', 'zstd'],
  ] as const)(
    'checks OTEL_EXPORTER_OTLP_%s, of which the exporter would tell nobody',
    (part, good, bad) => {
      for (const prefix of ['OTEL_EXPORTER_OTLP', 'OTEL_EXPORTER_OTLP_TRACES'] as const) {
        const name = `${prefix}_${part}` as const;
        for (const value of ['', ...listed(good)])
          expect(mistakesOf({ [name]: value })).toEqual([]);
        for (const value of listed(bad)) {
          const { constraint } = EXPORTER_VARIABLES[name]!;
          expect(mistakesOf({ [name]: value })).toEqual([`${name} must be ${constraint}`]);
          expect(mistakesOf({ [name]: value, OTEL_SDK_DISABLED: 'true' })).toEqual([]);
        }
      }
    },
  );

  it.each([
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '1 | 512', '0 | -5 | many'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '2048', '0 | 1e9'],
    ['OTEL_TRACES_SAMPLER', 'always_off | parentbased_traceidratio', 'bogus | ALWAYS_ON'],
  ] as const)('checks %s if traces are sent', (name, good, bad) => {
    const sent = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    for (const value of ['', ...listed(good)]) {
      expect(mistakesOf({ ...sent, [name]: value })).toEqual([]);
    }
    for (const value of listed(bad)) {
      const { constraint } = SDK_VARIABLES[name]!;
      expect(mistakesOf({ ...sent, [name]: value })).toEqual([`${name} must be ${constraint}`]);
      expect(mistakesOf({ [name]: value })).toEqual([]);
    }
  });

  it('is read partly by commands that do not start the service', () => {
    expect(readCommandConfig({ DATABASE_URL, AUTH_ISSUED_TOKENS: 'false', PORT: 'x' })).toEqual({
      databaseUrl: DATABASE_URL,
      secretFiles: {},
      issuedTokens: false,
    });
    expect(readCommandConfig({})).toEqual({ secretFiles: {}, issuedTokens: true });
    expect(() => readCommandConfig({ DATABASE_URL: 'x', LOG_FORMAT: 'x' })).toThrow(
      /^DATABASE_URL must be .*\nLOG_FORMAT must be one of json, text$/,
    );
  });

  it('cannot be changed afterwards', () => {
    const withUrl = withDatabase(readConfig(IDENTITY, {}), DATABASE_URL);
    const config = readConfig(IDENTITY, { CORS_ORIGINS: 'https://a.example' });
    const { http } = config;
    const frozen = [withUrl, withUrl.database, config, http, http.corsOrigins];
    expect(frozen.map(Object.isFrozen)).toEqual(frozen.map(() => true));
  });

  it.each([
    ['HOST', ':: | ::1 | 0.0.0.0 | tools.internal', 'a b | http://x | -x | x-'],
    ['KEEP_ALIVE_TIMEOUT', '1 | 3660 | 86400', '0 | 86401 | 60s | 1.5'],
    ['PORT', '0 | 80 | 65535', '65536 | -1 | 3000.5 | 0x10 | http | 30 00'],
    ['MANAGEMENT_HOST', 'localhost', '*'],
    ['MANAGEMENT_PORT', '9000', '99999'],
    [
      'DATABASE_URL',
      `postgresql://h/d | ${DATABASE_URL} | postgres://u:p%3F@[::1]:5/d?sslmode=verify-full`,
      // The last two have passwords that are not percent-encoded.
      'mysql://h/d | tools | :// | postgres://u:p@a:1,b:x/d | postgres://u:%zz@h/d | postgres://u:12?ab&cd@h/d | postgres://u:12#ab@h/d',
    ],
    [
      'DATABASE_SCHEMA',
      `tools | _2 | public | pgtools | ${'x'.repeat(63)}`,
      `pg_tools | Tools | 2 | tool-library | a.b | a"b | a'b | gärten | information_schema | ${'x'.repeat(64)}`,
    ],
    ['DATABASE_POOL_MAX', '1 | 1000', '0 | 1001 | ten'],
    ['DATABASE_MIGRATE_ON_START', 'true | false', 'yes | 1 | TRUE'],
    ['DATABASE_SERVICE_ROLE', `service | The "Service" | ${'x'.repeat(63)}`, 'é'.repeat(32)],
    [
      'AUTH_TOKEN',
      `${TOKEN} | ${TOKEN}~+/.-_==`,
      `${'x'.repeat(31)} | ${TOKEN} x | ${TOKEN}=x | ${TOKEN}é`,
    ],
    [
      'AUTH_JWT_ISSUER',
      'https://id.example/ | http://localhost:9 | http://[::1]:9/x',
      'http://id.example | id.example | https://id.example?x=1 | https://id.example# | https://u:p@id.example | ftp://id.example | https://id.exa\tmple | https:\\\\id.example',
    ],
    ['AUTH_ISSUED_TOKENS', 'true | false', 'yes | 1'],
    ['AUTH_JWT_AUDIENCE', 'tools'],
    [
      'AUTH_JWT_JWKS_URI',
      'https://id.example/keys?v=1 | http://127.9.9.9/keys',
      'http://id.example/keys | keys',
    ],
    [
      'AUTH_JWT_DEFAULT_SCOPES',
      'tools:read |  tools:read  gardens:write  | none | tools:lend | Tools:Lend a.b/c:d_e:* https://id.example/x',
      'tools | tools: | :read | tools:read,tools:write | none tools:read | tools:"read" | tools:re\\ad | tools:réad | tools:\x7f',
    ],
    [
      'PUBLIC_BASE_URL',
      'https://shop.example.com/api | http://localhost:3000/',
      'ftp://x | /api | https://x/?a | https://x/#a | https://x/a:b | https://x/a//b | https://u@x',
    ],
    ['BODY_LIMIT', '1kb | 100MB | 2048b', '1 | 0kb | 512b | 101mb | 1gb | -1kb | 1.5mb'],
    [
      'CORS_ORIGINS',
      'https://a.example | https://a.example, http://localhost:8080 | http://[::1]:8080 | capacitor://localhost | capacitor://Localhost | safari-web-extension://0DC1D0DB-1C2A-4B3C-8D4E-5F6A7B8C9D0E | file:// | qrc:// | file://, qrc://app:8080 | ionic://localhost | tauri://localhost | chrome-extension://abcdefghijklmnopabcdefghijklmnop | moz-extension://01920000-0000-7000-8000-000000000001 | app://obsidian.md | app://. | vscode-webview://x | com.example.app+x://localhost:8080, https://a.example',
      '* | null | a.example | https://a.example/ | https://a.example/x | https://A.example | HTTPS://a.example | https://a.example:443 | http://a.example:80 | https://u@a.example | https://a.example?x | https://a.example#x | https://é.example | capacitor:localhost | capacitor:// | capacitor:///x | capacitor://localhost/ | capacitor://localhost?x | capacitor://localhost#x | capacitor://u:p@localhost | capacitor://@localhost | Capacitor://localhost | Safari-web-extension://0DC1D0DB | FILE:// | file:/// | file://x/y | qrc:/// | qrc: | wss:// | capacitor://localhost:99999 | capacitor://localhost:080 | capacitor://* | file://host | data:text/html | blob:https://a.example | 1app://x',
    ],
    ['DOCS_ENABLED', 'false', 'off'],
    ['DOCS_OAUTH_CLIENT_ID', 'tool-library-docs | 0oa1b2/c~d:{e}', 'tool library | gerätchen'],
    ['LOG_LEVEL', 'silent | trace', 'verbose | INFO'],
    ['LOG_FORMAT', 'json | text', 'pretty | JSON'],
    ['RATE_LIMIT', '0 | 600 | 1000000', '-1 | 1000001 | 600/m | 0.5 | 1e3'],
    ['CHANGES_ENABLED', 'true | false', 'yes | 1'],
    ['CHANGES_RETENTION', '1d | 90d | 3650d', '0d | 3651d | 90 | 1w | -1d | 1.5d'],
    ['SHUTDOWN_DELAY', '0 | 300', '301 | -1 | 1.5 | 5s'],
    [
      'TRUST_PROXY',
      '0 | 2 | loopback | 10.0.0.0/8, ::1 | fd00::/8',
      'true | 101 | 10.0.0.0/33 | 0.0.0.0/0 | ::/129 | 1.2.3.4/8/8 | proxy | ,',
    ],
  ] as const)(
    'checks %s, naming the variable and the rule, never the value',
    (name, good, bad?: string) => {
      const others = /^(AUTH_JWT|DOCS_OAUTH)/.test(name)
        ? { AUTH_JWT_ISSUER: 'https://id.example', AUTH_JWT_AUDIENCE: 'tools' }
        : {};
      const mistakes = (value: string) =>
        mistakesOf({ AUTH_TOKEN: TOKEN, ...others, [name]: value });
      for (const value of listed(good)) expect(mistakes(value)).toEqual([]);
      for (const value of listed(bad)) {
        expect(mistakes(value)).toEqual([`${name} must be ${VARIABLES[name].constraint}`]);
      }
    },
  );

  describe('of the database', () => {
    const url = (query: string) => `postgres://u:p@db_1.example/d${query}`;

    it.each([
      '?sslmode=verify-full&sslrootcert=/run/ca.crt&sslcert=/run/c.crt&sslkey=/run/c.key',
      '?sslmode=disable',
      '?sslmode=no-verify',
      '?ssl=true',
      '?sslmode=verify-ca&sslrootcert=/run/ca.crt&uselibpqcompat=true',
      '?sslmode=require&sslnegotiation=direct&uselibpqcompat=true',
      '?application_name=shop&options=-c%20search_path%3Dtools&lock_timeout=5',
      '?host=/var/run/postgresql&port=5433&user=u&password=p',
    ])('takes what the driver honours: %s', (query) => {
      const { database } = readConfig(IDENTITY, { AUTH_TOKEN: TOKEN, DATABASE_URL: url(query) });
      expect(database.url).toBe(url(query));
    });

    it.each(['require', 'verify-ca'])('treats sslmode=%s as verify-full', (mode) => {
      const { database } = readConfig(IDENTITY, {
        AUTH_TOKEN: TOKEN,
        DATABASE_URL: url(`?application_name=a&sslmode=${mode}&sslrootcert=/ca`),
      });
      expect(database.url).toBe(url('?application_name=a&sslmode=verify-full&sslrootcert=%2Fca'));
    });

    it.each([
      ['?sslmod=secret', /^DATABASE_URL must not have the parameter "sslmod", only .*sslmode, /],
      ['?ssl_mode=require', /^DATABASE_URL must not have the parameter "ssl_mode"/],
      ['?foo=secret', /^DATABASE_URL must not have the parameter "foo"/],
      [
        '?target_session_attrs=any',
        /^DATABASE_URL must have one of read-write, primary as its target/,
      ],
      ['?channel_binding=require', /"channel_binding"/],
      ['?connect_timeout=5', /"connect_timeout"/],
      ['?statement_timeout=5', /"statement_timeout"/],
      ['?query_timeout=5', /"query_timeout"/],
      ['?sslmode=secret', /^DATABASE_URL must have one of disable, .*, no-verify as its sslmode$/],
      ['?sslmode=prefer', /^DATABASE_URL must have one of disable, .* as its sslmode$/],
      ['?ssl=false', /^DATABASE_URL must have one of .* as its ssl$/],
      ['?host=a,,b', /^DATABASE_URL must name a host such as db\.example\.com, or several hosts/],
    ])('says what it would ignore: %s', (query, mistake) => {
      const mistakes = mistakesOf({ AUTH_TOKEN: TOKEN, DATABASE_URL: url(query) });
      expect(mistakes).toEqual([expect.stringMatching(mistake)]);
      expect(mistakes.join()).not.toContain('secret');
    });

    it.each(['a..b', 'a,-!-', '-!-', 'x'.repeat(64)])('refuses the host %s', (host) => {
      const unusable = `postgres://u:p@${host}/d`;
      expect(mistakesOf({ AUTH_TOKEN: TOKEN, DATABASE_URL: unusable })).toEqual([
        'DATABASE_URL must name a host such as db.example.com, or several hosts separated by commas',
      ]);
    });
  });

  it('reports all mistakes at once', () => {
    expect(mistakesOf({ PORT: 'x', LOG_LEVEL: 'x', BODY_LIMIT: 'x' })).toHaveLength(3);
  });

  it('never repeats a value', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.stringMatching(/^[!-~]{12,40}$/), (name, value) => {
        expect(mistakesOf({ [name]: value }).join('\n')).not.toContain(value);
      }),
    );
  });

  it.each([
    [{ NODE_ENV: 'production', AUTH_TOKEN: TOKEN }, /^DATABASE_URL must be set/],
    [{ NODE_ENV: 'production', DATABASE_URL }, /^AUTH_TOKEN or AUTH_JWT_ISSUER must be set/],
    [{ DATABASE_URL }, /^AUTH_TOKEN or AUTH_JWT_ISSUER must be set/],
    [{ DATABASE_URL, AUTH_ISSUED_TOKENS: 'false' }, /^AUTH_TOKEN or AUTH_JWT_ISSUER must be set/],
    [{ AUTH_JWT_ISSUER: 'https://id.example' }, /^AUTH_JWT_AUDIENCE must be set/],
    [{ AUTH_TOKEN_PREVIOUS: TOKEN }, /^AUTH_TOKEN_PREVIOUS needs AUTH_TOKEN$/],
    [{ PORT: '3001' }, /^MANAGEMENT_PORT and PORT must be different$/],
    [{ PORT: '3001', HOST: '::' }, /^MANAGEMENT_PORT and PORT must be different$/],
    [{ PORT: '3001', HOST: '0.0.0.0' }, /^MANAGEMENT_PORT and PORT must be different$/],
    [
      { DATABASE_SERVICE_PASSWORD: 'a secret' },
      /^DATABASE_SERVICE_PASSWORD needs DATABASE_SERVICE_ROLE$/,
    ],
    [
      { DATABASE_SERVICE_ROLE: 'service', DATABASE_SERVICE_PASSWORD: 'gehéim' },
      /^DATABASE_SERVICE_PASSWORD must be of printable ASCII characters$/,
    ],
    [{ AUTH_JWT_AUDIENCE: 'tools' }, /^AUTH_JWT_AUDIENCE needs AUTH_JWT_ISSUER/],
    [{ AUTH_JWT_JWKS_URI: 'https://id.example/k' }, /^AUTH_JWT_JWKS_URI needs AUTH_JWT_ISSUER/],
    [{ DOCS_OAUTH_CLIENT_ID: 'tools' }, /^DOCS_OAUTH_CLIENT_ID needs AUTH_JWT_ISSUER$/],
    [
      {
        AUTH_JWT_ISSUER: 'https://id.example',
        AUTH_JWT_AUDIENCE: 'tools',
        DOCS_OAUTH_CLIENT_ID: 'tools',
        DOCS_ENABLED: 'false',
      },
      /^DOCS_OAUTH_CLIENT_ID must not be set when DOCS_ENABLED is false$/,
    ],
  ])('refuses contradicting variables: %j', (environment, mistake) => {
    expect(mistakesOf(environment)).toEqual([expect.stringMatching(mistake)]);
  });

  it('refuses the documented local token unless the service is on loopback', () => {
    const AUTH_TOKEN = `tool-library-local-${TOKEN}`;
    expect(mistakesOf({ AUTH_TOKEN })).toEqual([]);
    for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000']) {
      expect(mistakesOf({ AUTH_TOKEN, PUBLIC_BASE_URL: `http://${host}/` })).toEqual([]);
    }
    for (const host of ['shop.example.com', '10.0.0.1', 'localhost.example.com']) {
      expect(mistakesOf({ AUTH_TOKEN, PUBLIC_BASE_URL: `https://${host}/` })).toHaveLength(1);
    }
  });

  it.each([
    ['issued tokens, if they are asked for', { AUTH_ISSUED_TOKENS: 'true' }, undefined],
    [
      'JWTs',
      { AUTH_JWT_ISSUER: 'https://id.example/', AUTH_JWT_AUDIENCE: 'tools' },
      { issuer: 'https://id.example/', audience: 'tools', jwksUri: undefined },
    ],
  ])('accepts as the only way to authenticate %s', (_, only, jwt) => {
    const config = readConfig(IDENTITY, { NODE_ENV: 'production', DATABASE_URL, ...only });
    const token = undefined;
    expect(config.auth).toEqual({ token, previousToken: token, issuedTokens: true, jwt });
  });

  it('needs no variable for a service that verifies credentials itself', () => {
    const environment = { DATABASE_URL, AUTH_ISSUED_TOKENS: 'false', NODE_ENV: 'production' };
    expect(readConfig(IDENTITY, environment, {}, true).auth.token).toBeUndefined();
  });

  it('need not accept issued tokens', () => {
    const none = { AUTH_TOKEN: TOKEN, AUTH_ISSUED_TOKENS: 'false' };
    expect(readConfig(IDENTITY, none).auth.issuedTokens).toBe(false);
  });
});

describe('a secret in a file', () => {
  const PREVIOUS = 'y'.repeat(32);
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tool-library-config-'));
    const contents = {
      token: `${TOKEN}\n`,
      previous: `${PREVIOUS}\r\n`,
      url: `${DATABASE_URL}?sslmode=require`,
      local: `tool-library-local-${TOKEN}`,
      two: `${TOKEN}\n${PREVIOUS}\n`,
      marked: `\ufeff${TOKEN}\r\n\r\n`,
      'marked-url': `\ufeff ${DATABASE_URL}\r\n`,
      'marked-password': '\ufeff secret \r\n',
      parameter: `${DATABASE_URL}?channel_binding=require`,
      empty: '\n',
      large: 'x'.repeat(65_537),
    };
    for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text);
  });

  afterAll(() => rm(folder, { recursive: true }));

  /** The variables with the suffix `_FILE`, by the names of files. */
  function files(names: Record<string, string>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(names).map(([name, file]) => [`${name}_FILE`, join(folder, file)]),
    );
  }

  it('is read without what editors put around it', () => {
    const environment = files({ DATABASE_URL: 'marked-url', AUTH_TOKEN: 'marked' });
    expect(readConfig(IDENTITY, environment)).toMatchObject({
      database: { url: DATABASE_URL },
      auth: { token: TOKEN },
    });
    const password = files({ DATABASE_SERVICE_PASSWORD: 'marked-password' });
    const { serviceRole } = readCommandConfig({ DATABASE_SERVICE_ROLE: 'service', ...password });
    expect(serviceRole?.password).toBe(' secret ');
  });

  it('is read without the newline at its end', () => {
    const environment = files({
      DATABASE_URL: 'url',
      AUTH_TOKEN: 'token',
      AUTH_TOKEN_PREVIOUS: 'previous',
    });
    expect(readConfig(IDENTITY, { NODE_ENV: 'production', ...environment })).toMatchObject({
      database: { url: `${DATABASE_URL}?sslmode=verify-full` },
      auth: { token: TOKEN, previousToken: PREVIOUS },
      secretFiles: { AUTH_TOKEN: join(folder, 'token') },
    });
    expect(readCommandConfig(environment)).toEqual({
      databaseUrl: `${DATABASE_URL}?sslmode=verify-full`,
      secretFiles: { DATABASE_URL: join(folder, 'url') },
      issuedTokens: true,
    });
  });

  it.each(['empty', 'missing', 'missing/token'])('need not have a previous token: %s', (name) => {
    const { auth } = readConfig(
      IDENTITY,
      files({ AUTH_TOKEN: 'token', AUTH_TOKEN_PREVIOUS: name }),
    );
    expect(auth).toMatchObject({ token: TOKEN, previousToken: undefined });
  });

  const READABLE = 'must name a file that can be read and has at most 64 KB';

  it.each([
    ['AUTH_TOKEN', 'missing', `AUTH_TOKEN_FILE ${READABLE}`],
    ['AUTH_TOKEN', '.', `AUTH_TOKEN_FILE ${READABLE}`],
    ['AUTH_TOKEN', 'large', `AUTH_TOKEN_FILE ${READABLE}`],
    [
      'AUTH_TOKEN',
      'empty',
      `the content of AUTH_TOKEN_FILE must be ${VARIABLES.AUTH_TOKEN.constraint}`,
    ],
    [
      'AUTH_TOKEN',
      'two',
      `the content of AUTH_TOKEN_FILE must be ${VARIABLES.AUTH_TOKEN.constraint}`,
    ],
    ['DATABASE_URL', 'missing', `DATABASE_URL_FILE ${READABLE}`],
    [
      'DATABASE_URL',
      'empty',
      expect.stringMatching(/^the content of DATABASE_URL_FILE must be a URL such as postgres:/),
    ],
    [
      'DATABASE_URL',
      'parameter',
      expect.stringMatching(/^the content of DATABASE_URL_FILE must not have the parameter/),
    ],
  ])('ends the start with one line: %s in %s', (name, file, mistake) => {
    const others = name === 'DATABASE_URL' ? { AUTH_TOKEN: TOKEN } : { DATABASE_URL };
    const environment = { NODE_ENV: 'production', ...others, ...files({ [name]: file }) };
    expect(mistakesOf(environment)).toEqual([mistake]);
  });

  it('cannot be in a variable as well', () => {
    expect(mistakesOf({ AUTH_TOKEN: TOKEN, ...files({ AUTH_TOKEN: 'token' }) })).toEqual([
      'AUTH_TOKEN and AUTH_TOKEN_FILE must not both be set',
    ]);
  });

  it('has the rule about local tokens', () => {
    const PUBLIC_BASE_URL = 'https://shop.example.com';
    for (const names of [
      { AUTH_TOKEN: 'local' },
      { AUTH_TOKEN: 'token', AUTH_TOKEN_PREVIOUS: 'local' },
    ]) {
      expect(mistakesOf({ PUBLIC_BASE_URL, ...files(names) })).toEqual([
        expect.stringMatching(/^AUTH_TOKEN(_PREVIOUS)? must not begin with tool-library-local-/),
      ]);
    }
  });
});

describe('the documentation of the configuration', () => {
  const fallbackOf = (name: string) =>
    (VARIABLES as Readonly<Record<string, Variable>>)[name]?.fallback ?? '';

  it('gives names and defaults in docs/configuration.md', async () => {
    const text = await readFile('docs/configuration.md', 'utf8');
    const rows = [...text.matchAll(/^\| `([A-Z_]+)` +\| ([^|]*)\|/gm)];
    expect(rows.map(([, name]) => name)).toEqual(NAMES);
    for (const [, name = '', shown = ''] of rows) {
      const fallback = fallbackOf(name);
      if (fallback === '') expect(shown.trim()).not.toMatch(/^`[^`]*`$/);
      else expect(`${name}: ${shown}`).toMatch(new RegExp(`^${name}: \`${fallback}\``));
    }
    const image = /ENV [^]*?(?=\n[A-Z])/.exec(await readFile('Dockerfile', 'utf8'))?.[0] ?? '';
    for (const [, name, value] of image.matchAll(/\b((?:MANAGEMENT_)?HOST)=(\S+)/g)) {
      expect(text).toMatch(new RegExp(`^\\| \`${name}\` .*; \`${value}\` in the image`, 'm'));
    }
  });

  it('gives the defaults in .env.example', async () => {
    const text = await readFile('.env.example', 'utf8');
    for (const name of NAMES) {
      expect(text.split('\n')).toContain(`# ${name}=${fallbackOf(name)}`);
    }
  });
});
