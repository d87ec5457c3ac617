import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IssuerKeys } from '../../src/auth/issuer-keys.js';
import { JwtVerifier } from '../../src/auth/jwt.verifier.js';
import type { Principal } from '../../src/auth/principal.js';
import { Metrics } from '../../src/observability/metrics.js';
import { IDENTITY } from '../support/identity.js';
import { ScopeList } from '../../src/auth/scopes/scope-list.js';
import { AUDIENCE, TestIssuer } from '../support/test-issuer.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MB = 1024 * 1024;

/** As many as fit into header fields of 16 KiB, which Node.js accepts. */
const MANY = 2_900;

let issuer: TestIssuer;
let keys: IssuerKeys;
let verifier: JwtVerifier;

beforeEach(async () => {
  issuer = await TestIssuer.start();
  const config = { issuer: issuer.url, jwksUri: undefined };
  keys = new IssuerKeys(config, pino({ enabled: false }), new Metrics(IDENTITY));
  verifier = new JwtVerifier({ issuer: issuer.url, audience: AUDIENCE, defaultScopes: [] }, keys);
});

afterEach(async () => {
  keys.onModuleDestroy();
  await issuer.close();
});

async function verified(claims: Readonly<Record<string, unknown>>): Promise<Principal> {
  const principal = await verifier.verify(await issuer.token(claims));
  if (principal === undefined) throw new Error('the token is not one of the issuer');
  return principal;
}

/** Short scopes, each another one. */
function scopes(count: number): string[] {
  return Array.from({ length: count }, (_, at) => at.toString(36).padStart(3, ':'));
}

/** What the heap gains by verifying tokens, in bytes. Nothing but the verifier keeps anything of them. */
async function heapOf(tokens: number, claims: (at: number) => Readonly<Record<string, unknown>>) {
  await verified({});
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < tokens; at += 1) await verified(claims(at));
  collectGarbage();
  return process.memoryUsage().heapUsed - before;
}

describe('the memory of remembered JWTs', () => {
  it('is bounded, however many scopes they have', async () => {
    const scope = scopes(MANY).join(' ');
    expect(await heapOf(1_000, (at) => ({ jti: String(at), scope }))).toBeLessThan(24 * MB);
  });

  it('has nothing of a long name but its beginning', async () => {
    const name = 'n'.repeat(8_000);
    expect(await heapOf(1_000, (at) => ({ jti: String(at), name }))).toBeLessThan(4 * MB);
  });
});

describe('a list of scopes', () => {
  const words = fc.array(
    fc.oneof(fc.constantFrom('', ' ', 'a', 'ab', 'b', 'a b', ' a'), fc.string()),
  );

  it('is a set of the words without spaces', () => {
    fc.assert(
      fc.property(words, fc.string(), (all, other) => {
        const list = new ScopeList(all);
        const expected = new Set(all.filter((word) => word !== '' && !word.includes(' ')));
        expect([...list]).toEqual([...expected]);
        expect(list.size).toBe(expected.size);
        for (const word of [...all, other, all.join(' '), all.join('')]) {
          expect(list.has(word)).toBe(expected.has(word));
        }
      }),
    );
  });
});
