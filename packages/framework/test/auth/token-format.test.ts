import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTokenId, newTokenId, TokenFormat } from '../../src/auth/issued-tokens/token-format.js';
import { IDENTITY } from '../support/identity.js';

const FORMAT = new TokenFormat(IDENTITY);

/** A fresh token for each run. */
const token = fc.constant(null).map(() => FORMAT.create(newTokenId()));

/** Printable characters, and some that are not ASCII. */
const character = fc.oneof(
  fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)),
  fc.constantFrom('é', 'Α', '０', '\n', '\0'),
);

describe('a token', () => {
  it('is what secret scanners look for, with its id and a correct checksum', () => {
    const id = newTokenId();
    expect(isTokenId(id)).toBe(true);
    expect(FORMAT.idIn(FORMAT.create(id))).toBe(id);
    fc.assert(
      fc.property(token, (text) => {
        expect(text).toMatch(/^tlb_[0-9A-Za-z]{12}_[0-9A-Za-z]{28}$/);
        expect(FORMAT.isWellFormed(text)).toBe(true);
      }),
    );
  });

  it('with a typo is told from every token', () => {
    fc.assert(
      fc.property(token, fc.nat(44), character, (text, at, typed) => {
        fc.pre(text[at] !== typed);
        return !FORMAT.isWellFormed(text.slice(0, at) + typed + text.slice(at + 1));
      }),
      { numRuns: 500 },
    );
  });

  it('with two characters in each other’s place is told from every token', () => {
    fc.assert(
      fc.property(token, fc.nat(44), fc.nat(44), (text, one, other) => {
        fc.pre(text[one] !== text[other]);
        const characters = text.split('');
        [characters[one], characters[other]] = [text[other]!, text[one]!];
        return !FORMAT.isWellFormed(characters.join(''));
      }),
      { numRuns: 500 },
    );
  });

  it('that was cut or has more is told from every token', () => {
    fc.assert(
      fc.property(token, fc.nat(44), character, (text, at, more) => {
        return !FORMAT.isWellFormed(text.slice(0, at)) && !FORMAT.isWellFormed(text + more);
      }),
    );
  });

  it('takes each digit with the same probability', () => {
    const counts = new Map<string, number>();
    const secrets = Array.from({ length: 2_000 }, () => FORMAT.create(newTokenId()).slice(17, 39));
    const digits = secrets.join('');
    for (const digit of digits) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    const expected = digits.length / 62;
    const deviations = [...counts.values()].map((count) => (count - expected) ** 2 / expected);
    expect(counts.size).toBe(62);
    // Chi-squared with 61 degrees of freedom: once in more than a million runs. A modulo of bytes has about 2,000.
    expect(deviations.reduce((sum, deviation) => sum + deviation, 0)).toBeLessThan(130);
  });
});
