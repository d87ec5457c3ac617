import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const ID_RULE = `id must be an integer between ${MIN} and ${MAX}`;

let service: TestService;
let lastId = 1_000_000n;

/** An id that no other test uses. */
function freshId(): bigint {
  return ++lastId;
}

beforeAll(async () => {
  service = await startTestService();
});

// A property-based test may use the id of another test.
beforeEach(() => service.database.empty());

afterAll(() => service.stop());

describe('POST /plants', () => {
  it('answers 200 with exactly the name and the tag', async () => {
    const answer = await service.post({ id: 1, name: 'Monstera', tag: 'indoor' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.text).toBe('{"name":"Monstera","tag":"indoor"}');
  });

  it('omits an absent tag', async () => {
    const answer = await service.post({ id: 2, name: 'Cactus' });
    expect(answer).toMatchObject({ status: 200, text: '{"name":"Cactus"}' });
  });

  it('accepts an empty name and an empty tag', async () => {
    const answer = await service.post({ id: 3, name: '', tag: '' });
    expect(answer).toMatchObject({ status: 200, text: '{"name":"","tag":""}' });
  });

  it.each([
    ['an unknown member', '{"id":10,"name":"a","nonsense":"x","nested":{"id":[1.5,null]}}'],
    ['a member called __proto__', '{"id":11,"name":"a","__proto__":{"tag":"evil"}}'],
    ['a member called constructor', '{"id":12,"name":"a","constructor":{"prototype":{"tag":1}}}'],
    ['an access_token', '{"id":13,"name":"a","access_token":"x"}'],
    ['the same member twice with the same value', '{"id":14,"id":14.0,"name":"a","name":"a"}'],
    [
      'the same fraction twice, rounded by a double',
      '{"id":16,"name":"a","x":0.1,"x":0.1000000000000000000001,"y":[0.30000000000000000001],"y":[0.3]}',
    ],
    ['white space', ' \t\r\n{ "id" : 15 , "name" : "a" }\n'],
  ])('ignores %s', async (_, body) => {
    const answer = await service.post(body);
    expect(answer).toMatchObject({ status: 200, text: '{"name":"a"}' });
  });

  it.each([
    ['the id is missing', '{"name":"a"}', ['id is missing']],
    ['the id is null', '{"id":null,"name":"a"}', [ID_RULE]],
    ['the id is a string', '{"id":"7","name":"a"}', [ID_RULE]],
    ['the id is a boolean', '{"id":true,"name":"a"}', [ID_RULE]],
    ['the id is an array', '{"id":[7],"name":"a"}', [ID_RULE]],
    ['the id is an object', '{"id":{"value":7},"name":"a"}', [ID_RULE]],
    ['the id has a fraction', '{"id":7.5,"name":"a"}', [ID_RULE]],
    ['the id has a long fraction', '{"id":1.00000000000000000000001,"name":"a"}', [ID_RULE]],
    ['the id has a fraction no double can hold', '{"id":9007199254740993.5,"name":"a"}', [ID_RULE]],
    ['the id is too large by one', `{"id":${MAX + 1n},"name":"a"}`, [ID_RULE]],
    ['the id is too small by one', `{"id":${MIN - 1n},"name":"a"}`, [ID_RULE]],
    ['the id is huge', '{"id":1e400,"name":"a"}', [ID_RULE]],
    ['the id has a huge exponent', '{"id":1e99999999999999999999,"name":"a"}', [ID_RULE]],
    ['the id is tiny', '{"id":1e-400,"name":"a"}', [ID_RULE]],
    ['the id only comes by __proto__', '{"__proto__":{"id":1},"name":"a"}', ['id is missing']],
    ['the name is missing', '{"id":20}', ['name is missing']],
    ['everything is missing', '{}', ['id is missing', 'name is missing']],
    ['the name has a class', '{"id":20,"name":{"constructor":{"name":"a"}}}', ['name must be']],
    ['the id has a prototype', '{"id":{"__proto__":{"id":1}},"name":"a"}', [ID_RULE]],
    ['the id is in an array', '{"id":[[1]],"name":["a"]}', [ID_RULE, 'name must be a string']],
    ['the name is null', '{"id":20,"name":null}', ['name must be a string']],
    ['the name is a number', '{"id":20,"name":7}', ['name must be a string']],
    ['the name is a fraction', '{"id":20,"name":7.5}', ['name must be a string']],
    ['the name is an array', '{"id":20,"name":["a"]}', ['name must be a string']],
    ['the tag is null', '{"id":20,"name":"a","tag":null}', ['tag must be a string']],
    ['the tag is a number', '{"id":20,"name":"a","tag":1}', ['tag must be a string']],
    ['the tag is an object', '{"id":20,"name":"a","tag":{}}', ['tag must be a string']],
    ['the name holds U+0000', '{"id":20,"name":"a\\u0000b"}', ['name must not contain U+0000']],
    ['the tag holds U+0000', '{"id":20,"name":"a","tag":"\\u0000"}', ['tag must not contain']],
    ['a surrogate is unpaired', '{"id":20,"name":"\\ud800"}', ['unpaired surrogates']],
    ['surrogates are swapped', '{"id":20,"name":"\\udc00\\ud800"}', ['unpaired surrogates']],
    ['everything is wrong', '{"id":"x","name":1,"tag":null}', [ID_RULE, 'name must', 'tag must']],
    ['the body is an array', '[{"id":20,"name":"a"}]', ['the body must be a JSON object']],
    ['the body is null', 'null', ['the body must be a JSON object']],
    ['the body is a string', '"plant"', ['the body must be a JSON object']],
    ['the body is a number', '7', ['the body must be a JSON object']],
    ['the body is a fraction', '7.5', ['the body must be a JSON object']],
  ])('refuses with 40003 when %s, naming member and rule', async (_, body, rules) => {
    const answer = await service.post(body);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ error: 40003, message: expect.any(String) });
    for (const rule of rules) expect(answer.json['message']).toContain(rule);
    expect((await service.request('GET', '/plants/20')).status).toBe(404);
  });

  it.each([
    ['a truncated object', '{"id":1,"name":"a"'],
    ['single quotes', "{'id':1,'name':'a'}"],
    ['a trailing comma', '{"id":1,"name":"a",}'],
    ['a comment', '{"id":1,/* x */"name":"a"}'],
    ['two values', '{"id":1,"name":"a"}{"id":2,"name":"b"}'],
    ['white space only', '  \n'],
    ['a bare word', 'plant'],
    ['a number with a leading zero', '{"id":01,"name":"a"}'],
    ['a number with a plus sign', '{"id":+1,"name":"a"}'],
    ['a hexadecimal number', '{"id":0x10,"name":"a"}'],
    ['not-a-number', '{"id":NaN,"name":"a"}'],
    ['a raw control character in a string', '{"id":1,"name":"a\nb"}'],
    ['an invalid escape', '{"id":1,"name":"\\x41"}'],
    ['a byte order mark', '\ufeff{"id":1,"name":"a"}'],
    ['a member twice with different values', '{"id":1,"name":"a","name":"b"}'],
    ['an id twice with different values', '{"id":1,"id":2,"name":"a"}'],
    ['a nested member twice with different values', '{"id":1,"name":"a","x":{"y":1,"y":2}}'],
    ['sixty-five levels', `{"id":1,"name":"a","x":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['a hundred thousand levels', '['.repeat(100_000)],
    ['a hundred thousand closed levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('refuses %s with 40001', async (_, body) => {
    const answer = await service.post(body);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ error: 40001, message: expect.any(String) });
  });

  it('names a byte order mark, which is invisible', async () => {
    const answer = await service.post('\ufeff{"id":1,"name":"a"}');
    expect(answer.json).toEqual({
      error: 40001,
      message:
        'the body is not valid JSON: unexpected byte order mark ("\\ufeff") at line 1, column 1',
    });
  });

  it('accepts brackets in strings and 64 levels of nesting', async () => {
    const nested = `${'['.repeat(63)}"${'['.repeat(1_000)}"${']'.repeat(63)}`;
    const answer = await service.post(`{"id":30,"name":"[{\\"[{","x":${nested}}`);
    expect(answer).toMatchObject({ status: 200, text: '{"name":"[{\\"[{"}' });
  });

  it.each([
    ['an overlong form', [0xc0, 0xaf]],
    ['a lone continuation byte', [0x80]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['a truncated sequence', [0xe2, 0x82]],
    ['a byte that UTF-8 does not have', [0xff]],
  ])('refuses %s with 40001', async (_, bytes) => {
    const body = Buffer.concat([
      Buffer.from('{"id":31,"name":"'),
      Buffer.from(bytes),
      Buffer.from('"}'),
    ]);
    const answer = await service.request('POST', '/plants', {
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    expect(answer).toMatchObject({ status: 400, json: { error: 40001 } });
  });

  it.each([
    ['no type', undefined, 'no Content-Type'],
    ['text/plain', 'text/plain', 'Content-Type "text/plain"'],
    [
      'a form',
      'application/x-www-form-urlencoded',
      'Content-Type "application/x-www-form-urlencoded"',
    ],
    ['another JSON', 'application/vnd.api+json', 'Content-Type "application/vnd.api+json"'],
    [
      'another charset',
      'application/json; charset=iso-8859-1',
      'Content-Type "application/json; charset=iso-8859-1"',
    ],
    [
      'UTF-16',
      'application/json; charset=utf-16',
      'Content-Type "application/json; charset=utf-16"',
    ],
    [
      'UTF-80',
      'application/json; charset=utf-80',
      'Content-Type "application/json; charset=utf-80"',
    ],
    ['what is no media type', 'json', 'Content-Type "json"'],
    ['a list', 'application/json, text/plain', 'Content-Type "application/json, text/plain"'],
    ['an endless type', `text/${'x'.repeat(5_000)}`, `Content-Type "text/${'x'.repeat(95)}…"`],
    ['a hidden type', 'text/\u0085\u00ad"', String.raw`Content-Type "text/\u0085\u00ad\""`],
  ])('refuses %s with 415, and names the actual and the accepted type', async (_, type, found) => {
    const answer = await service.request('POST', '/plants', {
      headers: type === undefined ? {} : { 'Content-Type': type },
      body: new TextEncoder().encode('{"id":32,"name":"a"}'),
    });
    expect(answer).toMatchObject({ status: 415, json: { error: 41500 } });
    expect(answer.json['message']).toContain(`; the request has ${found}`);
    expect(answer.headers.get('accept-post')).toBe('application/json');
  });

  it.each([
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; charset=UTF8',
    'application/json;charset="utf8"',
    'Application/JSON',
    'application/json; version=1',
  ])('accepts the type %s', async (type) => {
    const answer = await service.post({ id: 33, name: 'a' }, { 'Content-Type': type });
    expect(answer.status).toBe(200);
  });

  it.each(['gzip', 'br', 'identity'])('refuses the content coding %s with 415', async (coding) => {
    const answer = await service.post({ id: 34, name: 'a' }, { 'Content-Encoding': coding });
    expect(answer).toMatchObject({ status: 415, json: { error: 41500 } });
    expect(answer.json['message']).toContain(`; the request has Content-Encoding "${coding}"`);
  });

  it('stores a plant of nearly a megabyte', async () => {
    const name = '🌱'.repeat(250_000);
    expect((await service.post({ id: 35, name })).status).toBe(200);
    const stored = await service.request('GET', '/plants/35');
    expect(stored.json['name'] === name).toBe(true);
  });
});

describe('ids', () => {
  it.each([
    ['7', '7'],
    ['7.0', '7'],
    ['7e0', '7'],
    ['0.7E+1', '7'],
    ['70e-1', '7'],
    ['0', '0'],
    ['-0', '0'],
    ['-0.0e5', '0'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9.223372036854775807e18', '9223372036854775807'],
    ['92233720368547758070e-1', '9223372036854775807'],
    ['9223372036854775807.000', '9223372036854775807'],
    ['1e18', '1000000000000000000'],
  ])('reads %s as %s, with all digits', async (literal, id) => {
    const name = `plant ${id}`;
    for (const body of [
      `{"id":${literal},"name":"${name}"}`,
      `{ "name":"${name}", "id":${literal} }`,
    ]) {
      expect((await service.post(body)).status).toBe(200);
    }
    const stored = await service.request('GET', `/plants/${id}`);
    expect(stored.text).toBe(`{"id":${id},"name":"${name}"}`);
    const rows = await service.database.query('SELECT id::text FROM plants WHERE name = $1', [
      name,
    ]);
    expect(rows).toEqual([{ id }]);
  });

  it('are exact over the whole range, in every notation', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: MIN, max: MAX }),
        fc.nat(25),
        fc.constantFrom('e', 'E'),
        async (id, shift, e) => {
          const name = `notation ${id}`;
          await service.database.query('DELETE FROM plants WHERE id = $1', [id.toString()]);
          const digits = (id < 0n ? -id : id).toString().padStart(shift + 1, '0');
          const point = digits.length - shift;
          const literal = `${id < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}0${e}+${shift}`;
          expect((await service.post(`{"id":${literal},"name":"${name}"}`)).status).toBe(200);
          const stored = await service.request('GET', `/plants/${id}`);
          expect(stored.text).toBe(`{"id":${id},"name":"${name}"}`);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('text', () => {
  it.each([
    ['composed and decomposed letters, apart', 'é \u0065\u0301'],
    ['the whole planes', '🌵\u{10FFFF}\uFFFE\uFFFF'],
    ['controls and quotes', '\u0001\b\f\n\r\t"\\/\u007f\u2028\u2029'],
    ['white space at both ends', '  x \u00a0'],
    ['what SQL would read', "'; DROP TABLE plants; --"],
    ['what HTML would read', '<script>alert(1)</script>'],
    ['right-to-left marks', '\u202egreen\u202c'],
    ['a noncharacter that looks like a mark', '\ufeffx'],
  ])('comes back byte for byte: %s', async (_, text) => {
    const id = freshId();
    const answer = await service.post({ id: Number(id), name: text, tag: text });
    expect(answer.json).toEqual({ name: text, tag: text });
    const stored = await service.request('GET', `/plants/${id}`);
    expect(stored.json).toEqual({ id: Number(id), name: text, tag: text });
  });

  it('comes back byte for byte, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.option(fc.string({ unit: 'grapheme', maxLength: 60 }), { nil: undefined }),
        async (name, tag) => {
          fc.pre(!name.includes('\0') && !tag?.includes('\0'));
          const id = Number(freshId());
          expect((await service.post({ id, name, tag })).status).toBe(200);
          const stored = await service.request('GET', `/plants/${id}`);
          expect(stored.json).toEqual(tag === undefined ? { id, name } : { id, name, tag });
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('bodies', () => {
  it('of any JSON are answered 200 or 400', async () => {
    const members = fc.record(
      {
        id: fc.oneof(fc.maxSafeInteger(), fc.double(), fc.jsonValue()),
        name: fc.oneof(fc.string(), fc.jsonValue()),
        tag: fc.jsonValue(),
        ['__proto__']: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(members, fc.jsonValue()), fc.nat(2), async (value, indent) => {
        const answer = await service.post(JSON.stringify(value, undefined, indent));
        expect([200, 400]).toContain(answer.status);
      }),
      { numRuns: 50 },
    );
  });

  it('of any bytes are answered 400', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 50 }), async (body) => {
        const answer = await service.request('POST', '/plants', {
          headers: { 'Content-Type': 'application/json' },
          body,
        });
        expect(answer.status).toBe(400);
        expect([40001, 40003]).toContain(answer.json['error']);
      }),
      { numRuns: 40 },
    );
  });
});

describe('the same create again', () => {
  it('is answered 200 and changes nothing', async () => {
    const body = { id: Number(freshId()), name: 'Fern', tag: 'shade' };
    const answers = [await service.post(body), await service.post(body), await service.post(body)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await service.request('GET', `/plants/${body.id}`)).json).toEqual(body);
  });

  it.each([
    ['another name', { name: 'Fern', tag: 'a' }, { name: 'fern', tag: 'a' }],
    ['another tag', { name: 'Fern', tag: 'a' }, { name: 'Fern', tag: 'b' }],
    ['a tag more', { name: 'Fern' }, { name: 'Fern', tag: 'a' }],
    ['an empty tag instead of none', { name: 'Fern' }, { name: 'Fern', tag: '' }],
    ['a tag less', { name: 'Fern', tag: 'a' }, { name: 'Fern' }],
    ['another normalisation', { name: 'é' }, { name: 'e\u0301' }],
    ['white space more', { name: 'Fern' }, { name: 'Fern ' }],
  ])('with %s is refused with 40009, and the stored plant stays', async (_, first, second) => {
    const id = Number(freshId());
    await service.post({ id, ...first });
    const answer = await service.post({ id, ...second });
    expect(answer).toMatchObject({ status: 400, json: { error: 40009 } });
    expect(answer.json['message']).toContain(String(id));
    expect((await service.request('GET', `/plants/${id}`)).json).toEqual({ id, ...first });
  });

  it('depends on what is stored now: the id of a removed plant is free', async () => {
    const id = Number(freshId());
    await service.post({ id, name: 'first' });
    await service.database.query('DELETE FROM plants WHERE id = $1', [id]);
    expect((await service.post({ id, name: 'second' })).status).toBe(200);
    await service.database.query('UPDATE plants SET name = $2 WHERE id = $1', [id, 'third']);
    expect((await service.post({ id, name: 'second' })).json['error']).toBe(40009);
    expect((await service.post({ id, name: 'third' })).status).toBe(200);
  });

  it('has one winner when different plants with the same id arrive at once', async () => {
    for (let round = 0; round < 10; round++) {
      const id = Number(freshId());
      const names = Array.from({ length: 20 }, (_, index) => `rival ${index % 10}`);
      const answers = await Promise.all(names.map((name) => service.post({ id, name })));
      const { name: winner } = (await service.request('GET', `/plants/${id}`)).json;
      names.forEach((name, index) => {
        expect(answers[index]?.status).toBe(name === winner ? 200 : 400);
        if (name !== winner) expect(answers[index]?.json['error']).toBe(40009);
      });
    }
  });
});

describe('GET /plants/{id}', () => {
  it('accepts percent-encoded digits (RFC 3986, section 6.2.2.2)', async () => {
    await service.post({ id: -41, name: 'Yucca' });
    for (const id of ['-41', '%2d41', '%2D%34%31']) {
      expect(await service.request('GET', `/plants/${id}`)).toMatchObject({
        status: 200,
        text: '{"id":-41,"name":"Yucca"}',
      });
    }
  });

  it('answers 404 with 40401 for an id that no plant has', async () => {
    const answer = await service.request('GET', '/plants/-987654321987');
    expect(answer.status).toBe(404);
    expect(answer.json).toEqual({
      error: 40401,
      message: 'there is no plant with id -987654321987',
    });
  });

  const malformed =
    '1e3 0x10 +1 01 -0 00 %201 1%20 1.0 abc NaN --1 9223372036854775808 -9223372036854775809 ' +
    '99999999999999999999999999 1%00 %30%31 %2531 %2B1 %D9%A1 1,000 1;x=1';

  it.each(malformed.split(' '))('refuses the id %s with 40004', async (id) => {
    const answer = await service.request('GET', `/plants/${id}`);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      error: 40004,
      message: `${ID_RULE}, as digits without leading zeros`,
    });
  });

  it('refuses every text except the canonical form of an id', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, maxLength: 25 }), async (text) => {
        fc.pre(!/^(0|-?[1-9]\d{0,18})$/.test(text) && !/^\.{1,2}$/.test(text));
        const answer = await service.request('GET', `/plants/${encodeURIComponent(text)}`);
        expect(answer).toMatchObject({ status: 400, json: { error: 40004 } });
      }),
      { numRuns: 30 },
    );
  });

  it('answers HEAD like GET, without the body', async () => {
    await service.post({ id: 40, name: 'Aloe' });
    const get = await service.request('GET', '/plants/40');
    const head = await service.request('HEAD', '/plants/40');
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
  });

  it('checks the token before the id', async () => {
    const answer = await service.request('GET', '/plants/abc', { anonymous: true });
    expect(answer).toMatchObject({ status: 401, json: { error: 40100 } });
    expect(answer.text).not.toContain(TOKEN);
  });
});
