import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseAllDigits,
  parseExactJson,
  stringifyExactJson,
  toInteger,
} from '../../src/json/exact-json.js';
import { ExactNumber } from '../../src/json/exact-number.js';
import { ServiceException } from '../../src/errors/service.exception.js';

/** A number that is written unchanged. */
class Literal {
  constructor(private readonly value: number | bigint | string) {}

  toString(): string {
    return String(this.value);
  }
}

/** Writes a tree as JSON: compact for choice 0, otherwise with white space, escapes and reordered members. */
function write(tree: unknown, choose: () => number): string {
  const gap = () => ['', ' ', '\n', '\t '][choose()] ?? '';
  const text = (value: string) =>
    choose() === 0
      ? JSON.stringify(value)
      : `"${Array.from({ length: value.length }, (_, at) => escaped(value.charCodeAt(at))).join('')}"`;
  const list = (parts: string[]) => gap() + parts.map((part) => part + gap()).join(`,${gap()}`);
  const bare = (value: unknown): string => {
    if (value instanceof Literal) return String(value);
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return `[${list(value.map((item) => write(item, choose)))}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).map(
      ([name, member]) => `${text(name)}${gap()}:${write(member, choose)}`,
    );
    return `{${list(choose() === 0 ? members : members.toReversed())}}`;
  };
  return gap() + bare(tree) + gap();
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

describe('parsing exact JSON', () => {
  it('returns what JSON.parse returns, in any layout, for JSON without numbers', () => {
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

  it('returns equal values for every notation', () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => new Literal(number)),
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map((number) => new Literal(number)),
        fc.constantFrom('1e400', '-1E-400', '0.10000000000000000000001').map((t) => new Literal(t)),
        fc.string({ unit: 'binary' }),
        fc.constantFrom(true, false, null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, fc.infiniteStream(fc.nat(3)), (tree, choices) => {
        const compact = write(tree, () => 0);
        const other = write(tree, () => choices.next().value);
        expect(parseExactJson(other)).toEqual(parseExactJson(compact));
      }),
    );
  });

  it('returns a number for the output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const value = parseExactJson(String(number));
        // `-0 + 0` is 0. So small that doubles have fewer digits, numbers are kept as their digits.
        const isHeld = number === 0 || Math.abs(number) > 1e-307;
        expect(value).toEqual(isHeld ? number + 0 : expect.any(ExactNumber));
      }),
    );
  });

  const exact = (decimal: string) => new ExactNumber(decimal);

  it.each([
    ['7', 7],
    ['7.0', 7],
    ['7e0', 7],
    ['70e-1', 7],
    ['0.7E+1', 7],
    ['0.0000000000000007e16', 7],
    ['7.00000000000000000000', 7],
    ['9007199254740993', exact('9007199254740993e0')],
    ['-92233720368547758080.0', exact('-9223372036854775808e1')],
    ['1e400', exact('1e400')],
    ['0.1e-400', exact('1e-401')],
    ['0.99999999999999999999', exact('99999999999999999999e-20')],
    ['9007199254740993.5', exact('90071992547409935e-1')],
    ['1e99999999999999999999', exact('1e99999999999999999999')],
    // As JSON.parse rounds them.
    ['0.1000000000000000000001', 0.1],
    ['52.520006599999996', Number('52.520006599999996')],
    ['3.141592653589793238', Number('3.141592653589793238')],
  ])('returns the value of %s, or its digits if a double cannot represent it', (literal, value) => {
    expect(parseExactJson(`{"a":[${literal}, { "b" : ${literal} }]}`)).toEqual({
      a: [value, { b: value }],
    });
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
        if (!valid) expect(() => parseExactJson(text)).toThrow(ServiceException);
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

  it('distinguishes fractions and huge numbers from integers', () => {
    for (const literal of [
      '0.5',
      '1e-1',
      '1.00000000000000000000000001',
      '0.1000000000000000000001',
      '52.520006599999996',
      '3.141592653589793238',
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

  it('accepts a duplicate member only with an equal value', () => {
    expect(parseExactJson('{"a":{"b":[1.50]},"a":{"b":[1.5]}}')).toEqual({ a: { b: [1.5] } });
    expect(parseExactJson('{"a":1e400,"a":10e399}')).toEqual({ a: new ExactNumber('1e400') });
    expect(parseExactJson('{"a":0,"a":-0.0}')).toEqual({ a: 0 });
    expect(() => parseExactJson('{"a":9007199254740993,"a":9007199254740992}')).toThrow(/twice/);
    expect(() => parseExactJson('{"__proto__":1,"__proto__":2}')).toThrow(/twice/);
    expect(() => parseExactJson('{"a":{"b":[1.5]},"a":{"b":[1.6]}}')).toThrow(/twice/);
    expect(() => parseExactJson('{"a":1,"\\u0061":2}')).toThrow(/twice/);
  });

  it('accepts the same duplicates, whether it keeps the digits of fractions or not', () => {
    const close = fc.constantFrom(
      '0.1',
      '0.1000000000000000000001',
      '0.1000000000000000055511151231257827',
      '1e-1',
      '1',
      '0.99999999999999999999',
      '1e400',
      '1e-320',
      '1e-321',
      '9007199254740992.5',
      '0',
      '-0.0',
      '9007199254740993',
      '9007199254740992',
      `1${'0'.repeat(320)}.5`,
      `2${'0'.repeat(320)}.5`,
    );
    const around = fc.constantFrom('$', '[$]', '{"b":[$]}', '{"__proto__":$}');
    fc.assert(
      fc.property(close, close, around, (first, second, place) => {
        const [a, b] = [first, second].map((number) => place.replace('$', () => number));
        const text = `{"a":${a},"a":${b}}`;
        const isAccepted = (parse: (json: string) => unknown): boolean => {
          try {
            parse(text);
            return true;
          } catch {
            return false;
          }
        };
        expect(isAccepted(parseAllDigits)).toBe(isAccepted(parseExactJson));
      }),
    );
    expect(parseAllDigits('{"a":0.1,"a":0.1000000000000000000001}')).toEqual({ a: 0.1 });
  });
});

describe('a body of a megabyte', () => {
  const fill = (part: string) => part.repeat(1_000_000 / part.length).slice(0, -1);
  const members = (part: (index: number) => string) =>
    Array.from({ length: 50_000 }, (_, index) => part(index)).join(',');

  it.each([
    ['zeros in an integer', `1${'0'.repeat(1_000_000)}1`],
    ['zeros in a small fraction', `0.${'0'.repeat(1_000_000)}1`],
    ['zeros in a fraction', `1.${'0'.repeat(1_000_000)}`],
    ['fractions', `[${fill('1.0,')}]`],
    ['exponents', `[${fill('1e5,')}]`],
    ['numbers that are too small', `[${fill('1E-308,')}]`],
    ['numbers of seventeen digits', `[${fill('0.12345678901234567,')}]`],
    ['long integers', `[${fill('9223372036854775807,')}]`],
    ['empty strings', `[${fill('"",')}]`],
    ['short escaped strings', `[${fill('"\\n",')}]`],
    ['one escaped string', `"${'\\u0041'.repeat(160_000)}"`],
    ['members', `{${members((index) => `"member ${index}":1`)}}`],
    ['members that are numbers', `{${members((index) => `"${index * 7}":1`)}}`],
    ['escaped members', `{${members((index) => `"\\u0041${index}":1`)}}`],
    ['one member, all the time', `{${fill('"a":[1],')}}`],
    ['one number', '1'.repeat(1_000_000)],
    ['one exponent', `1e${'9'.repeat(1_000_000)}`],
    ['white space', `${' \n'.repeat(500_000)}1`],
    ['nested arrays', `[${fill(`${'['.repeat(50)}${']'.repeat(50)},`)}]`],
  ])('of %s is parsed in linear time', (_, text) => {
    const start = process.cpuUsage();
    toInteger(parseExactJson(text));
    // Some 30 to 200 ms; quadratic time would be minutes.
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(2_000);
  });
});

describe('malformed JSON', () => {
  it.each([
    ['{"id":1,"name":"a",}', 'unexpected "}" at line 1, column 20'],
    ['{"id":1\n "name":"a"}', 'unexpected "\\"" at line 2, column 2'],
    ['{"id":1,"name":"a"', 'unexpected end at line 1, column 19'],
    ['', 'unexpected end at line 1, column 1'],
    ['\n\n\t', 'unexpected end at line 3, column 2'],
    ['{"id":01}', 'unexpected "1" at line 1, column 8'],
    ['{"id":-}', 'unexpected "-" at line 1, column 7'],
    ['[1,]', 'unexpected "]" at line 1, column 4'],
    ['[1 2]', 'unexpected "2" at line 1, column 4'],
    ['{"a" 1}', 'unexpected "1" at line 1, column 6'],
    ['{a:1}', 'unexpected "a" at line 1, column 2'],
    ['nul', 'unexpected "n" at line 1, column 1'],
    ['"🌵', 'unexpected end at line 1, column 4'],
    ['{} 🌵', 'unexpected "🌵" at line 1, column 4'],
    ['"a\nb"', 'unexpected "\\n" at line 1, column 3'],
    ['"\\x41"', 'unexpected "\\\\" at line 1, column 2'],
    ['\ufeff{}', 'unexpected byte order mark ("\\ufeff") at line 1, column 1'],
    ['\u0085', 'unexpected "\\u0085" at line 1, column 1'],
  ])('%j is reported with its position', (text, message) => {
    expect(() => parseExactJson(text)).toThrow(`the body is not valid JSON: ${message}`);
  });

  it('names the duplicate member, truncated', () => {
    expect(() => parseExactJson('{"x":{"\\n\\u202e":1,"\\n\\u202e":2}}')).toThrow(
      'the member "\\n\\u202e" occurs twice, with different values',
    );
    const long = 'a'.repeat(1_000);
    expect(() => parseExactJson(`{"${long}":1,"${long}":2}`)).toThrow(
      `the member "${'a'.repeat(100)}…" occurs twice`,
    );
  });
});

describe('writing exact JSON', () => {
  it('returns what JSON.stringify returns, and all digits of a bigint', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt(), (value, big) => {
        expect(stringifyExactJson(value)).toBe(JSON.stringify(value));
        expect(stringifyExactJson({ id: big })).toBe(`{"id":${big}}`);
      }),
    );
  });

  it('refuses values that JSON cannot represent', () => {
    expect(() => stringifyExactJson(undefined)).toThrow(TypeError);
  });
});
