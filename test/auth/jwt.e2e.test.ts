import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { CompactEncrypt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ISSUER_TIMES } from '../../packages/framework/src/auth/issuer-keys.js';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import type { ErrorKind } from '../../packages/framework/src/errors/error-kind.js';
import { issue } from '../support/issued-tokens.js';
import { PATIENCE, processTimeOf } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import {
  AUDIENCE,
  forge,
  hmac,
  ISSUER_FAULTS,
  ISSUER_HANGS,
  newKey,
  republished,
  rs256,
  secondsFromNow,
} from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer, TestKey } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { RequestOptions, TestService } from '../support/test-service.js';

const REALM = 'Bearer realm="plant-store"';

const ACCEPTED = {
  status: 200,
  body: { id: 1, name: 'Monstera' },
  challenge: null,
  retryAfter: null,
};
const NO_CREDENTIALS = refusal(40100, ERRORS.noCredentials, REALM);
const NOT_VALID = refusal(40101, ERRORS.tokenNotValid, invalid('the token is not valid'));
const EXPIRED = refusal(40102, ERRORS.tokenExpired, invalid('the token has expired'));
const UNAVAILABLE = {
  status: 503,
  body: { error: 50303, message: ERRORS.tokenIssuerUnavailable.message },
  challenge: null,
  retryAfter: '1',
};

function refusal(error: number, { message }: ErrorKind, challenge: string) {
  return { status: 401, body: { error, message }, challenge, retryAfter: null };
}

function invalid(description: string): string {
  return `${REALM}, error="invalid_token", error_description="${description}"`;
}

type Json = Readonly<Record<string, unknown>>;

const HOUR = 3_600;
const SOON = { timeout: PATIENCE, interval: 50 };

let database: TestDatabase;
const issuers: TestIssuer[] = [];
const services: TestService[] = [];
/** Every token that the running test has presented. */
const presented = new Set<string>();

beforeAll(async () => {
  database = await createTestDatabase();
  const service = await startTestService({ database });
  services.push(service);
  await service.post(ACCEPTED.body);
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await Promise.all(issuers.map((issuer) => issuer.close()));
  await database.drop();
});

afterEach(() => {
  assert.deepEqual(partsIn(logText(), presented), []);
  presented.clear();
});

async function startIssuer(options?: { path?: string; alg?: string }): Promise<TestIssuer> {
  const issuer = await startTestIssuer(options);
  issuers.push(issuer);
  return issuer;
}

/** A service that trusts the issuer. */
async function startFor(
  issuer: TestIssuer,
  environment: Record<string, string> = {},
): Promise<TestService> {
  const service = await startTestService({
    database,
    environment: { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE, ...environment },
  });
  services.push(service);
  return service;
}

async function startBoth(): Promise<{ issuer: TestIssuer; service: TestService }> {
  const issuer = await startIssuer();
  return { issuer, service: await startFor(issuer) };
}

/** Asks for a plant with a bearer token. */
function present(service: TestService, token: string, scheme = 'Bearer') {
  presented.add(token);
  return ask(service, { headers: { Authorization: `${scheme} ${token}` } });
}

/** The parts of an answer that clients see. */
async function ask(service: TestService, options: RequestOptions, path = '/plants/1') {
  const method = options.body === undefined ? 'GET' : 'POST';
  const { status, headers, json, text } = await service.request(method, path, options);
  // The answer must not reveal the URL of the keys or the failure.
  expect(JSON.stringify([...headers]) + text).not.toMatch(/127\.0\.0\.1|jwks|openid|\.ts|\.js/);
  return {
    status,
    body: json,
    challenge: headers.get('www-authenticate'),
    retryAfter: headers.get('retry-after'),
  };
}

/** Sends two Authorization header fields, which `fetch` would join. */
async function presentBoth(service: TestService, ...credentials: readonly [string, string]) {
  const socket = await RawSocket.open(service.port);
  try {
    const lines = credentials.map((value) => `Authorization: ${value}\r\n`).join('');
    socket.send(`GET /plants/1 HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}\r\n`);
    const { status, headers, body } = await socket.answer();
    const { error } = JSON.parse(body) as { readonly error: unknown };
    return { status, challenge: headers['www-authenticate'], error };
  } finally {
    socket.destroy();
  }
}

function logText(): string {
  return services.map(({ log }) => JSON.stringify(log)).join('\n');
}

/** The parts of the tokens that occur in the text, except parts that are too short. */
function partsIn(text: string, tokens: Iterable<string>): string[] {
  return [...tokens]
    .flatMap((token) => token.split('.'))
    .filter((part) => part.length >= 16 && text.includes(part));
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

describe('a valid token of the issuer', () => {
  const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(
    ' ',
  );
  const keys = new Map<string, TestKey>();
  let issuer: TestIssuer;
  let service: TestService;

  beforeAll(async () => {
    issuer = await startIssuer();
    const rsa = await newKey('RS256');
    for (const alg of ALGORITHMS) {
      keys.set(alg, /^[RP]S/.test(alg) ? republished(rsa, alg) : await newKey(alg));
    }
    issuer.keys = [...keys.values()].map(({ jwk }) => jwk);
    issuer.key = keys.get('ES256')!;
    service = await startFor(issuer);
  });

  it.each(ALGORITHMS)('signed with %s is accepted', async (alg) => {
    const key = keys.get(alg);
    expect(await present(service, await issuer.token({}, { key: key! }))).toEqual(ACCEPTED);
  });

  it.each<[string, claims: Json, header?: Json]>([
    ['its audience is a string', { aud: AUDIENCE }],
    ['its audience is a list of one', { aud: [AUDIENCE] }],
    ['its audience is a list of several', { aud: ['somebody-else', AUDIENCE, 'a-third'] }],
    ['its type is at+jwt', {}, { typ: 'at+jwt' }],
    ['its type is AT+JWT', {}, { typ: 'AT+JWT' }],
    ['its type is application/at+jwt', {}, { typ: 'application/at+jwt' }],
    ['its type is JWT', {}, { typ: 'JWT' }],
    ['its type is jwt', {}, { typ: 'jwt' }],
    ['it has no type', {}, { typ: undefined }],
    ['it has no key id, and one key matches', {}, { kid: undefined }],
    ['it has claims that nobody here knows', { roles: ['gardener'], ü: { deep: [null] } }],
    ['its not-before is in the past', { nbf: secondsFromNow(-HOUR) }],
    ['its expiry has a fraction', { exp: secondsFromNow(HOUR) + 0.5 }],
    ['its expiry is very far away', { exp: 1e300 }],
  ])('is accepted when %s', async (_, claims, header = {}) => {
    const token = await issuer.token(claims, { header });
    expect(await present(service, token)).toEqual(ACCEPTED);
  });

  it('is accepted when its key is published without algorithm and use', async () => {
    const terse = await startIssuer();
    const { alg: _alg, use: _use, ...jwk } = terse.key.jwk;
    terse.keys = [jwk];
    expect(await present(await startFor(terse), await terse.token())).toEqual(ACCEPTED);
  });

  it.each(['bearer', 'BEARER', 'bEaReR'])('is accepted with the scheme "%s"', async (scheme) => {
    expect(await present(service, await issuer.token(), scheme)).toEqual(ACCEPTED);
  });
});

describe('the keys of the issuer', () => {
  it('are found through its discovery document, once for many tokens, also at the same time', async () => {
    const { issuer, service } = await startBoth();
    const token = await issuer.token();
    const answers = await Promise.all(times(50, () => present(service, token)));
    expect(answers).toEqual(times(50, () => ACCEPTED));
    expect(await present(service, await issuer.token({ sub: 'other' }))).toEqual(ACCEPTED);
    expect(issuer.requests).toEqual(['discovery', 'keys']);
  });

  it('are taken from AUTH_JWT_JWKS_URI without asking for the discovery document', async () => {
    const issuer = await startIssuer();
    issuer.behave('discovery', ISSUER_FAULTS['answers with status 500']!);
    const service = await startFor(issuer, { AUTH_JWT_JWKS_URI: issuer.jwksUri });
    expect(await present(service, await issuer.token())).toEqual(ACCEPTED);
    expect(issuer.requests).toEqual(['keys']);
  });

  it.each(['/', '/realms/plants', '/realms/plants/'])(
    'are found when the path of the issuer is %s',
    async (path) => {
      const issuer = await startIssuer({ path });
      expect(await present(await startFor(issuer), await issuer.token())).toEqual(ACCEPTED);
    },
  );

  it('are not fetched before a token needs them', async () => {
    const { issuer, service } = await startBoth();
    expect(await present(service, TOKEN)).toEqual(ACCEPTED);
    expect(await present(service, 'no-token-of-anybody')).toEqual(NOT_VALID);
    expect(await ask(service, { anonymous: true })).toEqual(NO_CREDENTIALS);
    for (const alg of ['none', 'HS256', 'RS1']) {
      const forged = forge({ alg, kid: issuer.key.kid }, issuer.claims(), hmac(''));
      expect(await present(service, forged)).toEqual(NOT_VALID);
    }
    expect(issuer.requests).toEqual([]);
  });
});

describe('the static token', () => {
  it('is optional: without it, only tokens of the issuer are accepted', async () => {
    const issuer = await startIssuer();
    const service = await startFor(issuer, { AUTH_TOKEN: '' });
    expect(await present(service, await issuer.token())).toEqual(ACCEPTED);
    expect(await present(service, TOKEN)).toEqual(NOT_VALID);
  });

  it('is the only accepted token when no issuer is configured', async () => {
    const [service] = services;
    const issuer = await startIssuer();
    expect(await present(service!, TOKEN)).toEqual(ACCEPTED);
    expect(await present(service!, await issuer.token())).toEqual(NOT_VALID);
    expect(issuer.requests).toEqual([]);
  });
});

describe('the claims of a token', () => {
  let issuer: TestIssuer;
  let service: TestService;

  beforeAll(async () => {
    issuer = await startIssuer();
    service = await startFor(issuer);
  });

  it.each([
    ['ten minutes ago', () => secondsFromNow(-600)],
    ['ten minutes and a fraction ago', () => secondsFromNow(-600) - 0.5],
    ['at the beginning of 1970', () => 0],
    ['before 1970', () => -1],
    ['a very long time ago', () => -1e300],
  ])('refuse it as expired when it expired %s', async (_, exp) => {
    expect(await present(service, await issuer.token({ exp: exp() }))).toEqual(EXPIRED);
  });

  it.each<[string, (url: string) => Json]>([
    ['expiry is missing', () => ({ exp: undefined })],
    ['expiry is a string', () => ({ exp: String(secondsFromNow(HOUR)) })],
    ['expiry is a date as text', () => ({ exp: '2999-01-01T00:00:00Z' })],
    ['expiry is null', () => ({ exp: null })],
    ['expiry is true', () => ({ exp: true })],
    ['expiry is a list', () => ({ exp: [secondsFromNow(HOUR)] })],
    ['not-before is in the future', () => ({ nbf: secondsFromNow(HOUR) })],
    ['not-before is a string', () => ({ nbf: '0' })],
    ['issuer is missing', () => ({ iss: undefined })],
    ['issuer is another one', () => ({ iss: 'https://issuer.example' })],
    ['issuer has a slash at its end', (url) => ({ iss: `${url}/` })],
    ['issuer only begins like the right one', (url) => ({ iss: `${url}.example` })],
    ['issuer is written in capitals', (url) => ({ iss: url.toUpperCase() })],
    ['issuer is a list', (url) => ({ iss: [url] })],
    ['issuer is null', () => ({ iss: null })],
    ['audience is missing', () => ({ aud: undefined })],
    ['audience is another one', () => ({ aud: 'somebody-else' })],
    ['audience only begins like the right one', () => ({ aud: `${AUDIENCE}-staging` })],
    ['audience is written in capitals', () => ({ aud: AUDIENCE.toUpperCase() })],
    ['audience is empty', () => ({ aud: '' })],
    ['audience is an empty list', () => ({ aud: [] })],
    ['audience is a list without the right one', () => ({ aud: ['a', 'b'] })],
    ['audience is a list in a list', () => ({ aud: [[AUDIENCE]] })],
    ['audience is an object', () => ({ aud: { [AUDIENCE]: AUDIENCE } })],
    ['audience is null', () => ({ aud: null })],
    ['audience is several in one string', () => ({ aud: `other ${AUDIENCE}` })],
  ])('refuse it when its %s', async (_, changes) => {
    expect(await present(service, await issuer.token(changes(issuer.url)))).toEqual(NOT_VALID);
  });

  // RFC 7519, section 4: a parser refuses duplicates or takes the last one.
  it.each([
    ['expiry', () => ({ exp: secondsFromNow(HOUR) }), () => ({ exp: 1 }), EXPIRED],
    ['audience', () => ({ aud: AUDIENCE }), () => ({ aud: 'somebody-else' }), NOT_VALID],
    ['issuer', () => ({}), () => ({ iss: 'https://issuer.example' }), NOT_VALID],
  ])('use the last value of a duplicate %s', async (_, good, bad, refused) => {
    const goodText = JSON.stringify(issuer.claims(good())).slice(1, -1);
    const badText = JSON.stringify(bad()).slice(1, -1);
    const goodFirst = `{${goodText},${badText}}`;
    const badFirst = `{${badText},${goodText}}`;
    expect(await present(service, await issuer.token(goodFirst))).toEqual(refused);
    expect(await present(service, await issuer.token(badFirst))).toEqual(ACCEPTED);
  });

  it.each<[string, () => string]>([
    ['null', () => 'null'],
    ['a list', () => '[]'],
    ['a number', () => '42'],
    ['a text', () => '"claims"'],
    ['malformed JSON', () => '{"exp":'],
    ['nothing', () => ''],
    [
      'those of a prototype',
      () => {
        const { exp, ...claims } = issuer.claims();
        return `{"__proto__":{"exp":${String(exp)}},${JSON.stringify(claims).slice(1)}`;
      },
    ],
  ])('refuse it when they are %s', async (_, payload) => {
    expect(await present(service, await issuer.token(payload()))).toEqual(NOT_VALID);
  });

  it('refuse it when they are another token', async () => {
    const token = await issuer.token(await issuer.token(), { header: { cty: 'JWT' } });
    expect(await present(service, token)).toEqual(NOT_VALID);
  });
});

describe('a forged token', () => {
  const SECRET = Buffer.from('a secret that stands in the key set by mistake');
  let issuer: TestIssuer;
  let attacker: TestIssuer;
  let service: TestService;
  let otherUses: Record<'encrypting' | 'wrapping' | 'weak' | 'curve', TestKey>;

  /** The header of a valid token, changed. */
  const header = (changes: Json = {}) => ({
    alg: 'RS256',
    kid: issuer.key.kid,
    typ: 'at+jwt',
    ...changes,
  });
  /** A valid token with a changed header. */
  const signed = (changes: Json, key: KeyObject = issuer.key.privateKey) =>
    forge(header(changes), issuer.claims(), rs256(key));
  const signedByAttacker = (changes: Json = {}) => signed(changes, attacker.key.privateKey);
  const signedWith = ({ kid, privateKey }: TestKey) => signed({ kid }, privateKey);
  /** A token of the elliptic curve with another signature. */
  const onCurve = (signature: (input: Buffer, key: KeyObject) => Buffer) => {
    const { kid, privateKey } = otherUses.curve;
    const signInput = (input: Buffer) => signature(input, privateKey);
    return forge(header({ alg: 'ES256', kid }), issuer.claims(), signInput);
  };
  const encrypted = async () =>
    new CompactEncrypt(Buffer.from(await issuer.token()))
      .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A128GCM', cty: 'JWT', kid: issuer.key.kid })
      .encrypt(issuer.key.publicKey);

  beforeAll(async () => {
    [issuer, attacker] = await Promise.all([
      startIssuer({ alg: 'RS256' }),
      startIssuer({ alg: 'RS256' }),
    ]);
    const [encrypting, weak, curve] = await Promise.all([
      newKey('RS256'),
      newKey('RS256', { modulusLength: 1024 }),
      newKey('ES256'),
    ]);
    const wrapping = republished(encrypting, 'RS256');
    otherUses = { encrypting, wrapping, weak, curve };
    issuer.keys = [
      { ...encrypting.jwk, use: 'enc', alg: undefined },
      { ...wrapping.jwk, use: undefined, alg: undefined, key_ops: ['encrypt', 'wrapKey'] },
      weak.jwk,
      curve.jwk,
      { kty: 'oct', kid: 'secret', k: SECRET.toString('base64url'), alg: 'HS256', use: 'sig' },
      issuer.key.jwk,
    ];
    service = await startFor(issuer);
  });

  afterEach(() => {
    assert.deepEqual(attacker.requests, []);
  });

  it('is forged from these tokens, which are accepted unchanged', async () => {
    expect(await present(service, signed({}))).toEqual(ACCEPTED);
    const curve = await issuer.token({}, { key: otherUses.curve });
    expect(await present(service, curve)).toEqual(ACCEPTED);
  });

  const ALGS = [
    'none',
    'None',
    'NONE',
    'nOnE',
    'rs256',
    'Rs256',
    'RS256 ',
    'RSA-OAEP',
    'dir',
    'RS1',
  ];
  const NO_ALGS = ['', null, undefined, 256, ['RS256'], { toString: 'RS256' }];

  it.each([...ALGS, ...NO_ALGS].map((alg) => [alg]))(
    'is refused with the algorithm %j, however it is signed',
    async (alg) => {
      const unsigned = forge(header({ alg }), issuer.claims());
      const garbage = forge(header({ alg }), issuer.claims(), () => Buffer.from('garbage'));
      for (const token of [unsigned, garbage, signed({ alg })]) {
        expect(await present(service, token)).toEqual(NOT_VALID);
      }
    },
  );

  it.each<[string, (key: TestKey) => string | Buffer]>([
    ['public key as PEM', ({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' })],
    [
      'public key as PEM without its last line break',
      ({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' }).toString().trim(),
    ],
    [
      'public key in PKCS #1',
      ({ publicKey }) => publicKey.export({ type: 'pkcs1', format: 'pem' }),
    ],
    ['public key as DER', ({ publicKey }) => publicKey.export({ type: 'spki', format: 'der' })],
    ['public key as the text of its JWK', ({ jwk }) => JSON.stringify(jwk)],
    ['modulus of the public key', ({ jwk }) => Buffer.from(jwk.n!, 'base64url')],
    ['modulus of the public key as text', ({ jwk }) => jwk.n!],
    ['id of the key', ({ kid }) => kid],
    ['empty secret', () => ''],
  ])('is refused when it is an HMAC with the %s', async (_, secret) => {
    for (const alg of ['HS256', 'HS384', 'HS512', 'RS256']) {
      const hash = alg.replace(/^../, 'sha');
      const token = forge(header({ alg }), issuer.claims(), hmac(secret(issuer.key), hash));
      expect(await present(service, token)).toEqual(NOT_VALID);
    }
  });

  it.each(['jwk', 'jku', 'x5u', 'x5c'])(
    'is refused when it contains its key as "%s"',
    async (member) => {
      const { jwk, publicKey } = attacker.key;
      const key = {
        jwk,
        jku: attacker.jwksUri,
        x5u: attacker.jwksUri,
        x5c: [publicKey.export({ type: 'spki', format: 'der' }).toString('base64')],
      }[member];
      for (const kid of [issuer.key.kid, attacker.key.kid, undefined]) {
        const token = signedByAttacker({ [member]: key, kid });
        expect(await present(service, token)).toEqual(NOT_VALID);
      }
    },
  );

  const FILES = [
    '../../../../../../dev/null',
    '/dev/null',
    'C:\\Windows\\win.ini',
    'ATTACKER/keys',
  ];
  const CODE = ["' UNION SELECT 'secret' --", "x' OR '1'='1", '| id', '__proto__', 'constructor'];
  const NO_KIDS = ['0', 'a\0b', '', 0, null, true, ['KID'], { $ne: null }];

  it.each([...FILES, ...CODE, ...NO_KIDS].map((kid) => [kid]))(
    'is refused when the id of its key is %j',
    async (template) => {
      const kid: unknown = JSON.parse(
        JSON.stringify(template)
          .replace('ATTACKER', new URL(attacker.url).href)
          .replace('KID', issuer.key.kid),
      );
      const unsigned = forge(header({ kid, alg: 'HS256' }), issuer.claims(), hmac(''));
      for (const token of [signedByAttacker({ kid }), unsigned]) {
        expect(await present(service, token)).toEqual(NOT_VALID);
      }
    },
  );

  it.each<[string, Json]>([
    ['an extension that nobody here knows', { crit: ['urn:plants'], 'urn:plants': true }],
    ['an extension that is not in its header', { crit: ['urn:plants'] }],
    ['nothing', { crit: [] }],
    ['a member that is no extension', { crit: ['alg'] }],
    ['the expiry', { crit: ['exp'], exp: 1 }],
    ['a text', { crit: 'exp', exp: 1 }],
    ['an unencoded payload', { crit: ['b64'], b64: false }],
    ['an encoded payload, which a JWT may not say', { crit: ['b64'], b64: 'true' }],
  ])('is refused when it marks as critical %s', async (_, changes) => {
    expect(await present(service, signed(changes))).toEqual(NOT_VALID);
  });

  const TYPES = [
    'logout+jwt',
    'dpop+jwt',
    'secevent+jwt',
    'application/logout+jwt',
    'id_token+jwt',
  ];
  const NO_TYPES = ['JWE', 'at+jwt ', '', 7, null, ['at+jwt']];

  it.each([...TYPES, ...NO_TYPES].map((typ) => [typ]))(
    'is refused when its type is %j',
    async (typ) => {
      expect(await present(service, signed({ typ }))).toEqual(NOT_VALID);
    },
  );

  it.each<[string, () => string | Promise<string>]>([
    ['another key signed it with the id of the right key', () => signedByAttacker()],
    ['it is a valid token of another issuer, which is not asked', () => attacker.token()],
    ['the id of its key is very long', () => signedByAttacker({ kid: 'k'.repeat(8_000) })],
    ['its key is published for encryption', () => signedWith(otherUses.encrypting)],
    ['its key may only wrap keys', () => signedWith(otherUses.wrapping)],
    ['its RSA key has only 1024 bits', () => signedWith(otherUses.weak)],
    ['its key is published for PS256', () => issuer.token({}, { header: { alg: 'PS256' } })],
    ['its key is published for ES256', () => signed({ kid: otherUses.curve.kid })],
    [
      'it is an HMAC with a secret from the key set',
      () => forge(header({ alg: 'HS256', kid: 'secret' }), issuer.claims(), hmac(SECRET)),
    ],
    ['its signature is all zeros', () => onCurve(() => Buffer.alloc(64))],
    ['its signature is two zeros', () => onCurve(() => Buffer.alloc(2))],
    ['its signature is in DER', () => onCurve((input, key) => sign('sha256', input, key))],
    [
      'its signature is too long',
      () =>
        onCurve((input, key) => {
          const good = sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' });
          return Buffer.concat([good, Buffer.alloc(2)]);
        }),
    ],
    [
      'it is expired as well, which the answer does not tell',
      () => {
        const claims = issuer.claims({ exp: secondsFromNow(-HOUR) });
        return forge(header(), claims, rs256(attacker.key.privateKey));
      },
    ],
    [
      'its header names a good algorithm first and "none" last',
      () => forge(JSON.stringify(header()).replace(/\}$/, ',"alg":"none"}'), issuer.claims()),
    ],
    [
      'its header is nested absurdly',
      () => {
        const deep = `${'['.repeat(4_000)}${']'.repeat(4_000)}`.slice(0, 9_000);
        return forge(
          JSON.stringify(header({ deep: 0 })).replace('"deep":0', `"deep":${deep}`),
          '{}',
        );
      },
    ],
    ['it is encrypted', encrypted],
    ['its subject has a zero', () => issuer.token({ sub: 'a\0b' })],
    ['its subject is no text', () => issuer.token({ sub: 'a\ud800' })],
  ])('is refused when %s', async (_, make) => {
    expect(await present(service, await make())).toEqual(NOT_VALID);
  });

  it.each<[string, (token: string, other: string) => string]>([
    ['other claims', (token, other) => token.replace(/\..*\./, other.match(/\..*\./)![0])],
    [
      'another header',
      (token) => token.replace(/^[^.]*/, forge(header({ typ: 'JWT' }), '').split('.')[0]!),
    ],
    [
      'another signature',
      (token) =>
        token.replace(/\.(.)([^.]*)$/, (_, first, rest) => `.${first === 'A' ? 'B' : 'A'}${rest}`),
    ],
    [
      'the signature of another token',
      (token, other) => token.replace(/[^.]*$/, other.split('.')[2]!),
    ],
    ['its last character is missing', (token) => token.slice(0, -1)],
    ['half of its signature is missing', (token) => token.slice(0, -128)],
    ['its signature is missing', (token) => token.replace(/[^.]*$/, '')],
    ['its signature and the dot are missing', (token) => token.replace(/\.[^.]*$/, '')],
    ['its claims are missing', (token) => token.replace(/\..*\./, '..')],
    ['its header is missing', (token) => token.replace(/^[^.]*/, '')],
    ['only its header is there', (token) => token.replace(/\..*$/, '')],
    ['only its dots are there', () => '..'],
    ['it has a fourth part', (token) => `${token}.AAAA`],
    ['it has an empty fourth part', (token) => `${token}.`],
    ['it has a dot in front', (token) => `.${token}`],
    ['it stands there twice', (token) => `${token}.${token}`],
    ['its header is padded', (token) => token.replace('.', '=.')],
    ['its signature is padded', (token) => `${token}==`],
    ['its signature is in the other alphabet', (token) => token.replace(/[^.]*$/, '+/+/')],
    ['its header is no JSON', (token) => token.replace(/^[^.]*/, 'AAAA')],
    ['its header is null', (token) => token.replace(/^[^.]*/, 'bnVsbA')],
    ['it holds a space', (token) => token.replace('.', '. ')],
    ['it is quoted', (token) => `"${token}"`],
    ['another one follows a comma', (token) => `${token}, Bearer ${token}`],
    ['it is written as JSON', asJson],
  ])('is refused when it was changed: %s', async (_, change) => {
    const [token, other] = [await issuer.token(), await issuer.token({ sub: 'admin' })];
    expect(await present(service, change(token, other))).toEqual(NOT_VALID);
  });
});

function asJson(token: string): string {
  const [head, payload, signature] = token.split('.');
  return JSON.stringify({ protected: head, payload, signature });
}

describe('a valid token in the wrong place', () => {
  const tokens: string[] = [];
  let service: TestService;

  beforeAll(async () => {
    const issuer = await startIssuer();
    service = await startFor(issuer);
    tokens.push(await issuer.token(), await issue(database.url, 'create', '--name', 'test'));
  });

  /** Expects that neither a JWT nor an issued token is found in a request. */
  async function expectUnseen(request: (token: string) => RequestOptions & { path?: string }) {
    for (const token of tokens) {
      presented.add(token);
      const { path, ...options } = request(token);
      expect(await ask(service, { anonymous: true, ...options }, path)).toEqual(NO_CREDENTIALS);
    }
  }

  it.each(['access_token', 'token', 'Authorization'])(
    'is not looked for in the query as %s',
    async (name) => {
      await expectUnseen((token) => ({ path: `/plants/1?${name}=${token}` }));
    },
  );

  it.each<[string, (token: string) => string]>([
    ['application/x-www-form-urlencoded', (token) => `access_token=${token}`],
    ['application/json', (token) => JSON.stringify({ id: 3, name: 'Aloe', access_token: token })],
  ])('is not looked for in a body of type %s', async (type, body) => {
    await expectUnseen((token) => ({
      path: '/plants',
      headers: { 'Content-Type': type },
      body: body(token),
    }));
  });

  it.each(['Cookie', 'X-Authorization', 'Proxy-Authorization', 'X-Access-Token', 'X-Api-Key'])(
    'is not looked for in the header %s',
    async (name) => {
      for (const prefix of ['', 'access_token=', 'token=', 'Bearer ']) {
        await expectUnseen((token) => ({ headers: { [name]: prefix + token } }));
      }
    },
  );

  it.each(['Basic', 'DPoP', 'JWT', 'Token', 'Bearer-Token', 'Bearerer', ''])(
    'is not accepted with the scheme "%s"',
    async (scheme) => {
      await expectUnseen((token) => ({ headers: { Authorization: `${scheme} ${token}`.trim() } }));
    },
  );

  it('is not accepted in Basic credentials', async () => {
    for (const name of ['gardener', ...tokens]) {
      await expectUnseen((token) => ({
        headers: { Authorization: `Basic ${btoa(`${name}:${token}`)}` },
      }));
    }
  });

  it('is refused when it comes in two Authorization headers, whatever the other holds', async () => {
    for (const token of tokens) {
      expect(await present(service, token)).toEqual(ACCEPTED);
      const good = `Bearer ${token}`;
      const { status, challenge } = NOT_VALID;
      for (const other of [good, 'Basic Z2FyZGVuZXI6', 'Bearer none', 'Bearer ', '']) {
        const refused = { status, challenge, error: 40101 };
        expect(await presentBoth(service, good, other)).toEqual(refused);
        expect(await presentBoth(service, other, good)).toEqual(refused);
      }
    }
  });
});

/** Expects at most one fetch of the keys in five seconds because of unknown keys, besides the first fetch. A test takes longer on a busy machine. */
function expectOneRefetchPerPeriod(issuer: TestIssuer, begin: number): void {
  const periods = Math.ceil((performance.now() - begin) / ISSUER_TIMES.betweenRefetches);
  expect(issuer.asked('keys')).toBeLessThanOrEqual(1 + periods);
  expect(issuer.asked('discovery')).toBe(1);
}

describe('when the issuer changes its keys', () => {
  it('tokens of the new key are accepted at once, after one fetch for all, and tokens of the withdrawn key no longer', async () => {
    const { issuer, service } = await startBoth();
    const old = await issuer.token();
    expect(await present(service, old)).toEqual(ACCEPTED);
    await issuer.rotate();
    const begin = performance.now();
    const tokens = await Promise.all(times(50, (index) => issuer.token({ sub: `${index}` })));
    const answers = await Promise.all(tokens.map((token) => present(service, token)));
    expect(answers).toEqual(tokens.map(() => ACCEPTED));
    expect(await present(service, old)).toEqual(NOT_VALID);
    expect(issuer.requests.slice(0, 3)).toEqual(['discovery', 'keys', 'keys']);
    expectOneRefetchPerPeriod(issuer, begin);
  });

  it('tokens of both keys are accepted while both are published', async () => {
    const { issuer, service } = await startBoth();
    const old = await issuer.token();
    expect(await present(service, old)).toEqual(ACCEPTED);
    const published = issuer.keys;
    await issuer.rotate('EdDSA');
    issuer.keys = [...issuer.keys, ...published];
    expect(await present(service, await issuer.token())).toEqual(ACCEPTED);
    expect(await present(service, old)).toEqual(ACCEPTED);
  });
});

describe('a client with a hundred unknown key ids', () => {
  it.each([
    ['one after the other', 1],
    ['at the same time', 100],
  ])('causes at most one further fetch of the keys in five seconds, %s', async (_, atOnce) => {
    const { issuer, service } = await startBoth();
    const begin = performance.now();
    const stranger = await newKey('ES256');
    for (let sent = 0; sent < 100; sent += atOnce) {
      const answers = await Promise.all(
        times(atOnce, async (index) => {
          const header = { kid: `made-up-${sent + index}` };
          return present(service, await issuer.token({}, { key: stranger, header }));
        }),
      );
      expect(answers).toEqual(answers.map(() => NOT_VALID));
    }
    expectOneRefetchPerPeriod(issuer, begin);
    expect(await present(service, await issuer.token())).toEqual(ACCEPTED);
  });
});

describe('while the issuer is unavailable', () => {
  it('a token of the issuer is answered with 503, and other tokens as always', async () => {
    const { issuer, service } = await startBoth();
    await issuer.close();
    expect(await present(service, await issuer.token())).toEqual(UNAVAILABLE);
    expect(await present(service, TOKEN)).toEqual(ACCEPTED);
    expect(await present(service, 'no-token-of-anybody')).toEqual(NOT_VALID);
    expect(await present(service, forge({ alg: 'none' }, issuer.claims()))).toEqual(NOT_VALID);
    expect(await ask(service, { anonymous: true })).toEqual(NO_CREDENTIALS);
  });

  it.each(['expired', 'forged'])(
    'a token that may be %s is answered with 503, because it cannot be verified',
    async (kind) => {
      const { issuer, service } = await startBoth();
      issuer.behave('discovery', ISSUER_FAULTS['answers with status 500']!);
      const key = kind === 'forged' ? await newKey('ES256') : issuer.key;
      const exp = secondsFromNow(kind === 'expired' ? -HOUR : HOUR);
      expect(await present(service, await issuer.token({ exp }, { key }))).toEqual(UNAVAILABLE);
    },
  );

  it('and hangs, a valid token is answered with 503 within the timeout, others at once', async () => {
    const cases = (['discovery', 'keys'] as const).flatMap((document) =>
      Object.values(ISSUER_HANGS).map((behaviour) => ({ document, behaviour })),
    );
    // A start takes the processor from attempts, whose time is limited.
    const started = await Promise.all(cases.map(async (one) => [one, await startBoth()] as const));
    await Promise.all(
      started.map(async ([{ document, behaviour }, { issuer, service }]) => {
        issuer.behave(document, behaviour);
        const token = await issuer.token();
        const waiting = times(20, () => present(service, token));
        await vi.waitFor(() => expect(issuer.asked(document)).toBe(1), PATIENCE);
        expect(await present(service, TOKEN)).toEqual(ACCEPTED);
        expect(await Promise.race([...waiting, Promise.resolve('still waiting')])).toBe(
          'still waiting',
        );
        const taken = await processTimeOf(Promise.all(waiting));
        expect(taken).toBeLessThan(ISSUER_TIMES.timeout + 5_000);
        expect(await Promise.all(waiting)).toEqual(times(20, () => UNAVAILABLE));
        expect(issuer.asked(document)).toBe(1);
      }),
    );
  });

  it('a valid token is answered with 503 when AUTH_JWT_JWKS_URI fails', async () => {
    const issuer = await startIssuer();
    issuer.behave('keys', ISSUER_FAULTS['answers with status 404']!);
    const service = await startFor(issuer, { AUTH_JWT_JWKS_URI: issuer.jwksUri });
    expect(await present(service, await issuer.token())).toEqual(UNAVAILABLE);
    expect(issuer.requests).toEqual(['keys']);
  });

  it.each(['discovery', 'keys'] as const)(
    'many tokens cause few requests to the issuer for its %s, and are accepted soon after its recovery',
    async (document) => {
      const { issuer, service } = await startBoth();
      issuer.behave(document, ISSUER_FAULTS['answers with status 500']!);
      const token = await issuer.token();
      const start = performance.now();
      for (let round = 0; round < 10; round += 1) {
        const answers = await Promise.all(times(10, () => present(service, token)));
        expect(answers).toEqual(times(10, () => UNAVAILABLE));
      }
      const pauses = Math.floor((performance.now() - start) / ISSUER_TIMES.afterError);
      expect(issuer.asked(document)).toBeLessThanOrEqual(1 + pauses);
      issuer.recover();
      await vi.waitFor(async () => expect(await present(service, token)).toEqual(ACCEPTED), SOON);
    },
  );

  it('tokens of cached keys are still accepted', async () => {
    const { issuer, service } = await startBoth();
    const token = await issuer.token();
    expect(await present(service, token)).toEqual(ACCEPTED);
    await issuer.close();
    expect(await present(service, token)).toEqual(ACCEPTED);
    const unknown = await issuer.token({}, { key: await newKey('ES256') });
    expect(await present(service, unknown)).toEqual(UNAVAILABLE);
    expect(await present(service, token)).toEqual(ACCEPTED);
    const expired = await issuer.token({ exp: secondsFromNow(-HOUR) });
    expect(await present(service, expired)).toEqual(EXPIRED);
  });

  it('tokens of a new key are answered with 503 each time, never with 401, until its recovery', async () => {
    const { issuer, service } = await startBoth();
    expect(await present(service, await issuer.token())).toEqual(ACCEPTED);
    await issuer.rotate();
    issuer.behave('keys', ISSUER_FAULTS['answers with status 500']!);
    const token = await issuer.token();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await present(service, token)).toEqual(UNAVAILABLE);
    }
    issuer.recover();
    await vi.waitFor(async () => expect(await present(service, token)).toEqual(ACCEPTED), SOON);
  });
});

it('the log contains no token, no part of a token and no claim but the subject', async () => {
  const { issuer, service } = await startBoth();
  const email = 'private@example.com';
  const good = await issuer.token({ email });
  const bad = await issuer.token({ email, aud: 'somebody-else' });
  const expired = await issuer.token({ email, exp: secondsFromNow(-HOUR) });
  const unknown = await issuer.token({ email }, { key: await newKey('ES256') });

  expect(await present(service, good)).toEqual(ACCEPTED);
  expect(await present(service, bad)).toEqual(NOT_VALID);
  expect(await present(service, expired)).toEqual(EXPIRED);
  await ask(service, { anonymous: true }, `/plants/1?access_token=${good}`);
  await ask(service, { anonymous: true }, `/plants/${good}`);
  await ask(service, { anonymous: true }, `/${good}`);
  await ask(service, { anonymous: true, headers: { Cookie: `access_token=${good}` } });
  await ask(service, { anonymous: true, headers: { 'X-Request-Id': good } });
  await presentBoth(service, `Bearer ${good}`, `Bearer ${bad}`);
  await issuer.close();
  expect(await present(service, unknown)).toEqual(UNAVAILABLE);

  const log = JSON.stringify(service.log);
  expect(log).toContain('503');
  expect(partsIn(log, [good, bad, expired, unknown])).toEqual([]);
  expect(log).not.toContain(email);
  expect(log).toContain('"principalKind":"jwt","principalId":"gardener"');
});
