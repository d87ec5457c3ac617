import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { fetchDocument } from '../../src/auth/discovery.js';
import { ISSUER_TIMES, IssuerKeys } from '../../src/auth/issuer-keys.js';
import type { IssuerTimes } from '../../src/auth/issuer-keys.js';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import { CredentialsError } from '../../src/auth/credentials.error.js';
import { Metrics } from '../../src/observability/metrics.js';
import {
  AUDIENCE,
  ISSUER_FAULTS,
  ISSUER_HANGS,
  newKey,
  secondsFromNow,
  TestIssuer,
} from '../support/test-issuer.js';
import { PATIENCE } from '../support/patience.js';
import { IDENTITY } from '../support/identity.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const UNAVAILABLE = { kind: ERRORS.tokenIssuerUnavailable };

/** Longer than any test takes. */
const FOR_EVER = 600_000;

const DOCUMENTS = ['discovery', 'keys'] as const;

let issuer: TestIssuer;
let issuerKeys: IssuerKeys | undefined;
let metrics: Metrics;
let log: PassThrough;

beforeEach(async () => {
  issuer = await TestIssuer.start();
  metrics = new Metrics(IDENTITY);
  log = new PassThrough();
});

afterEach(async () => {
  issuerKeys?.onModuleDestroy();
  vi.useRealTimers();
  vi.restoreAllMocks();
  await issuer.close();
});

/** A verifier with the default times, except those given here. */
function verifierWith(times: Partial<IssuerTimes> = {}) {
  const { url } = issuer;
  issuerKeys = new IssuerKeys({ issuer: url, jwksUri: undefined }, pino(log), metrics, {
    ...ISSUER_TIMES,
    ...times,
  });
  const verifier = new JwtVerifier(
    { issuer: url, audience: AUDIENCE, defaultScopes: [] },
    issuerKeys,
  );
  /** Whether a token is valid. */
  return async (token: string): Promise<boolean> => {
    try {
      return (await verifier.verify(token)) !== undefined;
    } catch (error) {
      if (error instanceof CredentialsError && error.kind === ERRORS.tokenNotValid) return false;
      throw error;
    }
  };
}

function hundred<T>(make: (index: number) => T): T[] {
  return Array.from({ length: 100 }, (_, index) => make(index));
}

/** Tokens with unknown key ids. */
async function strangers(): Promise<string[]> {
  const key = await newKey('ES256');
  return Promise.all(
    hundred((index) => issuer.token({}, { key, header: { kid: `made-up-${index}` } })),
  );
}

/** Moves the wall clock only. */
function letPass(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
}

/** The network keeps real time. */
function fakeClock(): void {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
}

function logged(): unknown[] {
  const lines = String(log.read()).trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as { msg: unknown }).msg);
}

/** Makes the issuer answer with its keys only when the function is called that this returns. */
function holdKeys(): () => void {
  let answer = () => {};
  issuer.behave('keys', (_, well) => {
    answer = well;
  });
  return () => answer();
}

/** A token that is valid longer than any test moves the clock. */
function lastingToken(): Promise<string> {
  return issuer.token({ exp: secondsFromNow(86_400) });
}

describe('a document of the issuer', () => {
  const fetched = (url: string) => fetchDocument(new URL(url), AbortSignal.timeout(5_000));

  it('is asked for with its media types', async () => {
    issuer.behave('keys', (response) => void response.end(response.req.headers.accept));
    const response = await fetched(issuer.jwksUri);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('application/json, application/jwk-set+json');
  });

  it('is refused when it is too large', async () => {
    issuer.behave('keys', (response) => void response.end('x'.repeat(2 * 1024 ** 2)));
    await expect(fetched(issuer.jwksUri)).rejects.toThrow(/too large/);
  });

  it('is fetched over TLS from an https URL', async () => {
    await expect(fetched(issuer.jwksUri.replace('http:', 'https:'))).rejects.toMatchObject({
      code: expect.stringMatching(/SSL|EPROTO/),
    });
  });
});

describe('a token without the id of its key', () => {
  const header = { kid: undefined };

  it('is verified with each key that fits, as long as a rotation publishes two', async () => {
    const former = issuer.key;
    await issuer.rotate();
    issuer.keys = [former.jwk, issuer.key.jwk];
    const isValid = verifierWith();
    expect(await isValid(await issuer.token({}, { header }))).toBe(true);
    expect(await isValid(await issuer.token({}, { key: former, header }))).toBe(true);
    const stranger = await newKey('ES256');
    expect(await isValid(await issuer.token({}, { key: stranger, header }))).toBe(false);
    const other = await issuer.token({ aud: 'another' }, { key: former, header });
    expect(await isValid(other)).toBe(false);
  });

  it('is verified with a key that was published after the last fetch', async () => {
    const isValid = verifierWith();
    expect(await isValid(await issuer.token({}, { header }))).toBe(true);
    await issuer.rotate();
    expect(await isValid(await issuer.token({}, { header }))).toBe(true);
    expect(issuer.asked('keys')).toBe(2);
  });

  it('makes the keys be fetched seldom, however many tokens have a wrong signature', async () => {
    const isValid = verifierWith();
    expect(await isValid(await issuer.token({}, { header }))).toBe(true);
    const key = await newKey('ES256');
    const tokens = await Promise.all(
      hundred((index) => issuer.token({ jti: index }, { key, header })),
    );
    for (const token of tokens) expect(await isValid(token)).toBe(false);
    expect(issuer.asked('keys')).toBe(2);
  });
});

describe.each(DOCUMENTS)('an issuer that, asked for its %s,', (document) => {
  it.each(Object.entries(ISSUER_FAULTS))(
    '%s is unavailable until it recovers',
    async (_, fault) => {
      const isValid = verifierWith({ afterError: 0 });
      const token = await issuer.token();
      issuer.behave(document, fault);
      await expect(isValid(token)).rejects.toMatchObject(UNAVAILABLE);
      await expect(isValid(token)).rejects.toMatchObject(UNAVAILABLE);
      expect(issuer.asked(document)).toBe(2);
      expect(issuer.requests.filter((path) => path.startsWith('/'))).toEqual([]);
      issuer.recover();
      expect(await isValid(token)).toBe(true);
    },
  );

  it.each(Object.entries(ISSUER_HANGS))(
    '%s times out',
    { timeout: 2 * PATIENCE },
    async (_, hang) => {
      const isValid = verifierWith({ timeout: 200, afterError: 0 });
      const token = await issuer.token();
      issuer.behave(document, hang);
      // In Node 20, a garbage collection can remove the timeout of `fetch`.
      const collecting = setInterval(collectGarbage, 20);
      const start = performance.now();
      try {
        await expect(isValid(token)).rejects.toMatchObject(UNAVAILABLE);
      } finally {
        clearInterval(collecting);
      }
      expect(performance.now() - start).toBeGreaterThan(190);
      expect(String(log.read())).toContain('"reason":"request timed out"');
      issuer.recover();
      // A busy process can miss so short a timeout.
      await vi.waitFor(async () => expect(await isValid(token)).toBe(true), PATIENCE);
    },
  );
});

describe('a discovery document', () => {
  it.each<[string, (good: TestIssuer) => Record<string, unknown>]>([
    ['names another issuer', () => ({ issuer: 'https://issuer.example' })],
    ['names the issuer with a slash too many', ({ url }) => ({ issuer: `${url}/` })],
    ['names no issuer', () => ({ issuer: undefined })],
    ['names a list of issuers', ({ url }) => ({ issuer: [url] })],
    ['names no keys', () => ({ jwks_uri: undefined })],
    ['names a list of keys', ({ jwksUri }) => ({ jwks_uri: [jwksUri] })],
    ['names keys by a relative address', () => ({ jwks_uri: '/keys' })],
    // Leads to the same server, but is not a loopback address.
    [
      'names keys on an insecure line',
      ({ jwksUri }) => ({ jwks_uri: jwksUri.replace('127.0.0.1', '0.0.0.0') }),
    ],
    [
      'names keys with a password',
      ({ jwksUri }) => ({ jwks_uri: jwksUri.replace('//', '//user:password@') }),
    ],
    ['names keys in a file', () => ({ jwks_uri: 'file:///etc/keys.json' })],
    [
      'brings the keys along',
      ({ keys }) => ({
        jwks_uri: `data:application/json,${encodeURIComponent(JSON.stringify({ keys }))}`,
      }),
    ],
  ])('that %s is refused until it is corrected', async (_, members) => {
    const isValid = verifierWith({ afterError: 0 });
    const token = await issuer.token();
    issuer.discovery = members(issuer);
    await expect(isValid(token)).rejects.toMatchObject(UNAVAILABLE);
    expect(issuer.asked('keys')).toBe(0);
    issuer.discovery = {};
    expect(await isValid(token)).toBe(true);
  });

  it('is fetched again when its jwks_uri no longer works', async () => {
    const isValid = verifierWith({ afterError: 0 });
    const token = await lastingToken();
    expect(await isValid(token)).toBe(true);
    issuer.behave('keys', ISSUER_FAULTS['answers with status 404']!);
    issuer.discovery = { jwks_uri: issuer.jwksUri.replace('/keys', '/moved/keys') };
    letPass(ISSUER_TIMES.maxAge + 1_000);
    await isValid(token).catch(() => false);
    expect(await isValid(token)).toBe(true);
  });
});

describe('the keys of an issuer', () => {
  it('are fetched from an issuer that closes every connection', async () => {
    issuer.behave('discovery', (response, well) => {
      const { socket } = response;
      response.once('finish', () => setImmediate(() => socket?.destroy()));
      well();
    });
    expect(await verifierWith()(await issuer.token())).toBe(true);
  });

  it('are found by a valid token that arrives while they are fetched for an unknown key id', async () => {
    const isValid = verifierWith({ betweenRefetches: FOR_EVER });
    const [stranger = ''] = await strangers();
    expect(await isValid(await issuer.token())).toBe(true);
    await issuer.rotate();
    const answer = holdKeys();
    const refused = isValid(stranger);
    await vi.waitFor(() => expect(issuer.asked('keys')).toBe(2), PATIENCE);
    const accepted = isValid(await issuer.token());
    answer();
    expect(await Promise.all([refused, accepted])).toEqual([false, true]);
    expect(issuer.asked('keys')).toBe(2);
  });

  it('are found after the interval when unknown key ids have triggered the last fetch', async () => {
    const isValid = verifierWith({ betweenRefetches: 100 });
    const [stranger = ''] = await strangers();
    expect(await isValid(stranger)).toBe(false);
    await issuer.rotate();
    const token = await issuer.token();
    await vi.waitFor(async () => expect(await isValid(token)).toBe(true), {
      timeout: PATIENCE,
      interval: 10,
    });
  });

  it('are refreshed in the background, so that no caller waits and a withdrawn key stops working', async () => {
    fakeClock();
    const isValid = verifierWith();
    const token = await lastingToken();
    expect(await isValid(token)).toBe(true);
    await issuer.rotate();
    const answer = holdKeys();
    await vi.advanceTimersByTimeAsync(ISSUER_TIMES.refresh);
    await vi.waitFor(() => expect(issuer.asked('keys')).toBe(2), PATIENCE);
    expect(await isValid(token)).toBe(true);
    issuer.recover();
    answer();
    await vi.waitFor(async () => expect(await isValid(token)).toBe(false), PATIENCE);
  });

  it('are not fetched after the service has stopped', async () => {
    fakeClock();
    const isValid = verifierWith();
    expect(await isValid(await issuer.token())).toBe(true);
    issuerKeys?.onModuleDestroy();
    await vi.advanceTimersByTimeAsync(10 * ISSUER_TIMES.refresh);
    expect(issuer.asked('keys')).toBe(1);
  });
});

describe('a token that was verified', () => {
  it('is remembered: its signature is verified once', async () => {
    const isValid = verifierWith();
    const tokens = [await issuer.token(), await issuer.token({ sub: 'other' })];
    const verify = vi.spyOn(crypto.subtle, 'verify');
    for (const token of [...tokens, ...tokens, ...tokens]) {
      expect(await isValid(token)).toBe(true);
    }
    expect(verify).toHaveBeenCalledTimes(tokens.length);
  });

  it('expires nevertheless', async () => {
    const isValid = verifierWith();
    const token = await issuer.token({ exp: secondsFromNow(70) });
    expect(await isValid(token)).toBe(true);
    letPass(59_000);
    expect(await isValid(token)).toBe(true);
    letPass(12_000);
    await expect(isValid(token)).rejects.toMatchObject({ kind: ERRORS.tokenExpired });
  });
});

it('a token that was refused is verified again, because its key may have been published since', async () => {
  const isValid = verifierWith({ betweenRefetches: 0 });
  const key = await newKey('ES256');
  const token = await issuer.token({}, { key });
  expect(await isValid(token)).toBe(false);
  issuer.keys = [key.jwk];
  expect(await isValid(token)).toBe(true);
});

describe('while an issuer fails', () => {
  it('its keys stay in use for an hour, for known and new tokens, and again after its recovery', async () => {
    const isValid = verifierWith({ afterError: 0 });
    const token = await lastingToken();
    expect(await isValid(token)).toBe(true);
    issuer.behave('keys', ISSUER_FAULTS['hangs up']!);
    letPass(ISSUER_TIMES.maxAge - 10_000);
    expect(await isValid(token)).toBe(true);
    expect(await isValid(await lastingToken())).toBe(true);
    expect(issuer.asked('keys')).toBe(1);
    letPass(11_000);
    await expect(isValid(token)).rejects.toMatchObject(UNAVAILABLE);
    issuer.recover();
    expect(await isValid(token)).toBe(true);
  });

  it('the service retries, and log and metrics show when the outage begins and ends', async () => {
    fakeClock();
    const isValid = verifierWith();
    const token = await lastingToken();
    expect(await isValid(token)).toBe(true);
    const state = async () =>
      /^tool_library_token_issuer_up (.*)$/m.exec(await metrics.text())?.[1];
    expect(await state()).toBe('1');
    issuer.behave('keys', ISSUER_FAULTS['answers with status 500']!);
    await vi.advanceTimersByTimeAsync(ISSUER_TIMES.refresh);
    await vi.waitFor(async () => expect(await state()).toBe('0'), PATIENCE);
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + ISSUER_TIMES.afterError);
    await vi.advanceTimersByTimeAsync(ISSUER_TIMES.retry);
    await vi.waitFor(() => expect(issuer.asked('keys')).toBe(3), PATIENCE);
    vi.restoreAllMocks();
    expect(await isValid(token)).toBe(true);
    expect(logged()).toEqual(['the token issuer is unavailable']);
    issuer.recover();
    // The fake clock goes on by 50 ms for each attempt, and the next fetch comes after 10 s.
    await vi.waitFor(async () => expect(await state()).toBe('1'), 2 * PATIENCE);
    expect(logged()).toEqual(['the token issuer is available again']);
    expect(await metrics.text()).toMatch(/^tool_library_token_issuer_keys_age_seconds \d/m);
  });

  it('a hundred made-up key ids make one request', async () => {
    const isValid = verifierWith({ afterError: FOR_EVER });
    const known = await issuer.token();
    expect(await isValid(known)).toBe(true);
    issuer.behave('keys', ISSUER_FAULTS['answers with status 500']!);
    const tokens = await strangers();
    await Promise.allSettled(tokens.map((token) => isValid(token)));
    for (const token of tokens) await isValid(token).catch(() => false);
    expect(issuer.asked('keys')).toBe(2);
    expect(await isValid(known)).toBe(true);
  });
});
