import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { principalOf } from '../../src/auth/jwt-principal.js';
import { ERRORS } from '../../src/errors/common-errors.js';

type Claims = Readonly<Record<string, unknown>>;

const idOf = (claims: Claims): string => principalOf(claims, []).id;

/** Ids as issuers choose them, and as somebody chooses them who wants to be somebody else. */
const id = fc
  .tuple(
    fc.array(fc.constantFrom('sub:', 'client_id:', 'azp:', 'jwt:', ' ', 'é'), { maxLength: 4 }),
    fc.stringMatching(/^[a-z]{1,4}$/),
  )
  .map(([before, after]) => before.join('') + after);

/** What identifies nobody. */
const NO_IDS: readonly unknown[] = [
  null,
  '',
  ' ',
  '\t\u00a0\ufeff\n',
  0,
  7,
  true,
  false,
  {},
  [],
  ['gardener'],
  'a\0b',
  'a\ud800',
  '\udc00',
  'x'.repeat(256),
];

describe('the principal of a JWT', () => {
  it.each<[string, Claims]>([
    ['gardener', { sub: 'gardener' }],
    ['gardener', { sub: 'gardener', client_id: 'app', azp: 'app' }],
    ['gardener', { sub: 'gardener', client_id: null, azp: 7 }],
    [' Gärtner|1 ', { sub: ' Gärtner|1 ' }],
    ['x'.repeat(255), { sub: 'x'.repeat(255) }],
    ['client_id:app', { client_id: 'app' }],
    ['client_id:app', { client_id: 'app', azp: 'another' }],
    ['client_id:app', { azp: 'app' }],
    ['sub:app', { sub: 'sub:app' }],
    ['sub:client_id:app', { sub: 'client_id:app' }],
    ['sub:sub:client_id:app', { sub: 'sub:client_id:app' }],
    ['client_id:client_id:app', { client_id: 'client_id:app' }],
  ])('is %s', (expected, claims) => {
    expect(idOf(claims)).toBe(expected);
  });

  it.each(NO_IDS)('cannot be %j', (claim) => {
    const refusal = expect.objectContaining({ reason: 'claims', kind: ERRORS.tokenNotValid });
    for (const claims of [
      { sub: claim },
      { sub: claim, client_id: 'app', azp: 'app' },
      { client_id: claim },
      { client_id: claim, azp: 'app' },
      { azp: claim },
    ]) {
      expect(() => idOf(claims)).toThrow(refusal);
    }
  });

  it('cannot be missing', () => {
    expect(() => idOf({ name: 'gardener', email: 'gardener@example.com' })).toThrow(
      expect.objectContaining({ reason: 'claims', kind: ERRORS.tokenNotValid }),
    );
  });

  it('is the same for the same subject and for the same client, and for nobody else', () => {
    fc.assert(
      fc.property(id, id, (one, other) => {
        expect(idOf({ sub: one }) === idOf({ sub: other })).toBe(one === other);
        expect(idOf({ client_id: one }) === idOf({ azp: other })).toBe(one === other);
        expect(idOf({ sub: one })).not.toBe(idOf({ client_id: other }));
        expect(idOf({ sub: one })).not.toBe(idOf({ client_id: one }));
      }),
      { numRuns: 2_000 },
    );
  });
});
