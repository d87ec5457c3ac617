import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactJson, stringifyExactJson, toInteger } from '../src/http/exact-json.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';

describe('parsing exact JSON', () => {
  it('gives what JSON.parse gives, whatever the layout, for JSON without numbers', () => {
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'binary' }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        expect(parseExactJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const almost = fc
      .tuple(fc.json(), fc.nat(), fc.string({ maxLength: 3 }))
      .map(([json, at, noise]) => json.slice(0, at % json.length) + noise);
    fc.assert(
      fc.property(fc.oneof(fc.string(), almost), (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        if (!valid) expect(() => parseExactJson(text)).toThrow(PlantStoreError);
      }),
    );
  });

  it('keeps every digit of an integer, in any notation', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 19n) + 1n, max: 10n ** 19n - 1n }),
        fc.nat(30),
        (n, zeros) => {
          for (const literal of [
            `${n}`,
            `${n}.${'0'.repeat(zeros + 1)}`,
            `${n === 0n ? 0 : `${n}${'0'.repeat(zeros)}`}e-${zeros}`,
          ]) {
            expect(toInteger(parseExactJson(literal))).toBe(n);
            expect(toInteger(parseExactJson(` ${literal} `))).toBe(n);
          }
        },
      ),
    );
  });

  it('tells fractions and huge numbers from integers', () => {
    for (const literal of [
      '0.5',
      '1e-1',
      '1.00000000000000000000000001',
      '9007199254740993.5',
      '1e19',
      '1e400',
      '-1e-400',
    ]) {
      expect(toInteger(parseExactJson(literal))).toBeUndefined();
      expect(toInteger(parseExactJson(` ${literal}`))).toBeUndefined();
    }
    for (const value of ['7', true, null, [7], { value: 7 }, undefined]) {
      expect(toInteger(value)).toBeUndefined();
    }
  });

  it('does not take long for a megabyte of zeros', () => {
    const zeros = '0'.repeat(1_000_000);
    const start = performance.now();
    expect(toInteger(parseExactJson(`1${zeros}1`))).toBeUndefined();
    expect(toInteger(parseExactJson(`0.${zeros}1`))).toBeUndefined();
    expect(toInteger(parseExactJson(`1.${zeros}`))).toBe(1n);
    // Quadratic time would be minutes.
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it('accepts a member twice only with one value', () => {
    expect(parseExactJson('{"a":{"b":[1.50]},"a":{"b":[1.50]}}')).toBeDefined();
    expect(() => parseExactJson('{"a":{"b":[1.5]},"a":{"b":[1.6]}}')).toThrow(/twice/);
    expect(() => parseExactJson('{"a":1,"\\u0061":2}')).toThrow(/twice/);
  });
});

describe('writing exact JSON', () => {
  it('gives what JSON.stringify gives, and big integers digit for digit', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt(), (value, big) => {
        expect(stringifyExactJson(value)).toBe(JSON.stringify(value));
        expect(stringifyExactJson({ id: big })).toBe(`{"id":${big}}`);
      }),
    );
  });

  it('refuses what JSON has nothing for', () => {
    expect(() => stringifyExactJson(undefined)).toThrow(TypeError);
  });
});
