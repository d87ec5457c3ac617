import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lockPlants } from '../support/plants-lock.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { nothingRuns } from '../support/migrated-database.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, RequestOptions, TestService } from '../support/test-service.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const NDJSON = { 'Content-Type': 'application/x-ndjson' };

let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    environment: { BODY_LIMIT: '4kb' },
    limits: { bodyIdle: 2_000, body: 4_000 },
  });
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

function importing(body: RequestOptions['body'], headers = {}): Promise<Answer> {
  return service.request('POST', '/plants/import', {
    headers: { ...NDJSON, ...headers },
    ...(body !== undefined && { body }),
  });
}

function exporting(query = ''): Promise<Answer> {
  return service.request('GET', `/plants/export${query}`);
}

function ndjson(...values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

function linesOf({ text }: Answer): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function stored(): Promise<Record<string, unknown>[]> {
  return service.database.query('SELECT id, name, tag FROM plants ORDER BY id');
}

async function fill(count: number, tagLength = 0): Promise<void> {
  await service.database.query(
    `INSERT INTO plants SELECT n, 'Plant ' || n, repeat('x', ${tagLength}) FROM generate_series(1, ${count}) AS n`,
  );
}

/** Opens a connection and sends the header fields of an import, by default with a body in chunks. */
async function openImport(framing = 'Transfer-Encoding: chunked'): Promise<RawSocket> {
  const socket = await RawSocket.open(service.port);
  socket.send(
    `POST /plants/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/x-ndjson\r\n${framing}\r\n\r\n`,
  );
  return socket;
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** Waits until the text has arrived. */
async function arrived(socket: RawSocket, text: string): Promise<void> {
  await vi.waitFor(() => expect(socket.rest).toContain(text), PATIENCE);
}

describe('POST /plants/import', () => {
  it('creates a plant for each line, and answers with a summary', async () => {
    const answer = await importing(
      `{"id":${MAX},"name":"Aloe","tag":""}\n{"id":9007199254740993,"name":"月下美人"}\n{"id":-7e0,"name":"","tag":"a"}\n`,
    );
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    expect(answer.text).toBe('{"created":3,"unchanged":0,"refused":0}\n');
    expect(await stored()).toEqual([
      { id: '-7', name: '', tag: 'a' },
      { id: '9007199254740993', name: '月下美人', tag: null },
      { id: String(MAX), name: 'Aloe', tag: '' },
    ]);
  });

  it('takes a byte order mark in front of the first line, and names one in front of another', async () => {
    const line = '{"id":1,"name":"Aloe"}\n';
    const answer = await importing(`\ufeff${line}\ufeff${line}`);
    expect(answer.text).toBe(
      `{"line":2,"error":40001,"message":"the line is not valid JSON: unexpected byte order mark (\\"\\\\ufeff\\") at column 1"}\n{"created":1,"unchanged":0,"refused":1}\n`,
    );
    expect(await stored()).toEqual([{ id: '1', name: 'Aloe', tag: null }]);
  });

  it('tells apart plants that were stored before', async () => {
    const plants = ndjson({ id: 1, name: 'Aloe' }, { id: 2, name: 'Ficus' });
    await service.post({ id: 2, name: 'Ficus' });
    expect((await importing(plants)).json).toEqual({ created: 1, unchanged: 1, refused: 0 });
    expect((await importing(plants)).json).toEqual({ created: 0, unchanged: 2, refused: 0 });
  });

  it('answers each refused line with its number and an Error, and stores the others', async () => {
    await service.post({ id: 1, name: 'Aloe' });
    const lines = [
      '{"id":2,"name":"Ficus"}',
      '{"id":1,"name":"Rose"}',
      '',
      '{"id":3}',
      '{"id":3,"name":}',
      '[]',
      `{"id":4,"name":"${'x'.repeat(4096)}"}`,
      '{"id":9223372036854775808,"name":"a","tag":null}',
      '{"id":5,"name":"Lily"}',
    ];
    expect(linesOf(await importing(lines.join('\n')))).toEqual([
      { line: 2, error: 40009, message: 'id 1 belongs to a plant with other content' },
      { line: 4, error: 40003, message: 'name is missing' },
      {
        line: 5,
        error: 40001,
        message: 'the line is not valid JSON: unexpected "}" at column 16',
      },
      { line: 6, error: 40003, message: 'the line must be a JSON object' },
      { line: 7, error: 41300, message: 'the line is longer than a body may be' },
      {
        line: 8,
        error: 40003,
        message: `id must be an integer between ${MIN} and ${MAX}; tag must be a string`,
      },
      { created: 2, unchanged: 0, refused: 6 },
    ]);
    expect((await stored()).map(({ name }) => name)).toEqual(['Aloe', 'Ficus', 'Lily']);
  });

  it('refuses a line that is not UTF-8', async () => {
    const body = Buffer.from('{"id":1,"name":"\xff"}\n{"id":2,"name":"a"}\n', 'latin1');
    expect(linesOf(await importing(new Uint8Array(body)))).toEqual([
      { line: 1, error: 40001, message: 'the line is not valid UTF-8' },
      { created: 1, unchanged: 0, refused: 1 },
    ]);
  });

  it.each([
    ['CRLF', '{"id":1,"name":"a"}\r\n{"id":2,"name":"b"}\r\n', 2],
    ['blank lines', '\n\r\n{"id":1,"name":"a"}\n \t\n{"id":2,"name":"b"}\n\n', 2],
    ['no line feed at the end', '{"id":1,"name":"a"}\n{"id":2,"name":"b"}', 2],
    // An empty export can be imported.
    ['no body', undefined, 0],
    ['an empty body', '', 0],
    ['a line feed', '\n', 0],
  ])('accepts %s', async (_, body, created) => {
    expect((await importing(body)).json).toEqual({ created, unchanged: 0, refused: 0 });
  });

  it('stores the first of the lines with the same id, whatever the groups', async () => {
    const plant = fc.record({ id: fc.nat(5), name: fc.constantFrom('a', 'b') });
    await fc.assert(
      fc.asyncProperty(fc.array(plant, { maxLength: 200 }), async (plants) => {
        await service.database.empty();
        const first = new Map<number, string>();
        const refused: number[] = [];
        for (const [index, { id, name }] of plants.entries()) {
          if (!first.has(id)) first.set(id, name);
          if (first.get(id) !== name) refused.push(index + 1);
        }
        const lines = linesOf(await importing(ndjson(...plants)));
        expect(lines.slice(0, -1).map(({ line }) => line)).toEqual(refused);
        expect(lines.at(-1)).toEqual({
          created: first.size,
          unchanged: plants.length - first.size - refused.length,
          refused: refused.length,
        });
        expect(new Map((await stored()).map(({ id, name }) => [Number(id), name]))).toEqual(first);
      }),
      { numRuns: 15 },
    );
  });

  it('answers while the body is sent', async () => {
    const socket = await openImport();
    socket.send(chunk('{"id":1,"name":"a"}\n{"id":2}\n{"id":3,'));
    await arrived(socket, '{"line":2,"error":40003,"message":"name is missing"}');
    socket.send(`${chunk('"name":"c"}\n')}0\r\n\r\n`);
    await arrived(socket, '{"created":2,"unchanged":0,"refused":1}');
    await socket.end();
  });

  it('keeps the connection if no line was refused before the end of the body', async () => {
    const socket = await openImport();
    socket.send(`${chunk('{"id":1,"name":"a"}\n')}0\r\n\r\n`);
    await arrived(socket, '{"created":1,"unchanged":0,"refused":0}');
    expect(socket.rest).not.toMatch(/^connection: close/im);
    socket.destroy();
  });

  it('sends 100 Continue', async () => {
    const socket = await openImport('Content-Length: 20\r\nExpect: 100-continue');
    await arrived(socket, '100 Continue');
    socket.send('{"id":1,"name":"ab"}');
    await arrived(socket, '{"created":1,');
    socket.destroy();
  });

  it('answers 408 if the body stops arriving, and an Error after refused lines', async () => {
    const [silent, late] = [await openImport(), await openImport()];
    silent.send(chunk('{"id":1,"name":"a"}\n'));
    late.send(chunk('{"id":2,"name":"b"}\nx\n'));
    expect(await silent.answer()).toMatchObject({ status: 408, headers: { connection: 'close' } });
    await arrived(late, '{"error":40800,"message":"the request timed out before it was complete"}');
    await Promise.all([silent.end(), late.end()]);
    expect(late.rest).not.toContain('created');
    await vi.waitFor(
      () =>
        expect(service.log).toContainEqual(
          expect.objectContaining({ route: '/plants/import', status: 200, error: 40800 }),
        ),
      PATIENCE,
    );
  });

  it.each([
    ['blank lines', '\n \r\n'],
    ['a line, a byte at a time', ' '],
    ['a line that is too long', 'x'.repeat(5_000)],
  ])(
    'answers 408 to clients that send nothing but %s, which frees their places',
    async (_, text) => {
      const sockets = await Promise.all(Array.from({ length: 8 }, () => openImport()));
      const [refused] = sockets;
      refused!.send(chunk('x\n'));
      const sending = setInterval(() => {
        for (const socket of sockets) if (!socket.ended) socket.send(chunk(text));
      }, 300);
      try {
        for (const socket of sockets.slice(1)) {
          expect(await socket.answer()).toMatchObject({
            status: 408,
            headers: { connection: 'close' },
          });
        }
        await arrived(refused!, '{"error":40800,');
        expect((await importing('')).status).toBe(200);
      } finally {
        clearInterval(sending);
        for (const socket of sockets) socket.destroy();
      }
    },
  );

  it('takes as long as whole lines arrive', async () => {
    const socket = await openImport();
    // Longer than a line may take.
    for (let id = 1; id <= 20; id++) {
      socket.send(chunk(`{"id":${id},"name":`));
      await sleep(150);
      socket.send(chunk('"a"}\n'));
      await sleep(150);
    }
    socket.send('0\r\n\r\n');
    await arrived(socket, '{"created":20,"unchanged":0,"refused":0}');
    socket.destroy();
  });

  it('ends with an Error at once if the rest of the body is malformed', async () => {
    const socket = await openImport();
    socket.send(chunk('x\n'));
    await arrived(socket, '"line":1');
    socket.send('no chunk\r\n');
    await arrived(socket, '{"error":40000,');
    await socket.end();
    expect(socket.rest).not.toContain('created');
  });

  it('goes on while the database is slower than the timeout of a connection', async () => {
    const release = await lockPlants(service.database);
    const plants = Array.from({ length: 300 }, (_, id) => ({ id, name: 'a' }));
    const answer = importing(ndjson(...plants));
    // Longer than socketIdle.
    await sleep(6_500);
    await release();
    expect((await answer).json).toEqual({ created: 300, unchanged: 0, refused: 0 });
  });

  it('lets other requests through, however many lines arrive at once', async () => {
    const running = importing('x\n'.repeat(20_000));
    let answered = 0;
    const ended = new AbortController();
    void running.then(() => ended.abort());
    while (!ended.signal.aborted) {
      await service.request('GET', '/plants/1');
      answered += 1;
    }
    expect(answered).toBeGreaterThan(20);
    expect(linesOf(await running).at(-1)).toEqual({ created: 0, unchanged: 0, refused: 20_000 });
  });

  it('stops when the client goes away', async () => {
    const release = await lockPlants(service.database);
    const socket = await openImport();
    try {
      const plants = Array.from({ length: 1_000 }, (_, id) => ({ id, name: 'a' }));
      socket.send(chunk(ndjson(...plants)));
      await vi.waitFor(async () => {
        const waiting = await service.database.query(
          'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $1',
          ['Lock'],
        );
        expect(waiting).not.toEqual([]);
      }, PATIENCE);
      socket.reset();
      await vi.waitFor(() => expect(socket.peer?.destroyed).toBe(true), PATIENCE);
    } finally {
      await release();
    }
    // The lines of the window may be stored, the others are not.
    await nothingRuns(service.database);
    expect((await stored()).length).toBeLessThanOrEqual(512);
  });

  it('answers 429 when too many imports run, until one ends', async () => {
    const running = await Promise.all(Array.from({ length: 8 }, () => openImport()));
    for (const socket of running) socket.send(chunk('x\n'));
    await Promise.all(running.map((socket) => arrived(socket, '"line":1')));
    const answer = await importing('');
    expect(answer).toMatchObject({ status: 429, json: { error: 42903 } });
    expect(answer.headers.get('retry-after')).toBe('1');
    // Single creates go on.
    expect((await service.post({ id: 1, name: 'Aloe' })).status).toBe(200);
    for (const socket of running) socket.send('0\r\n\r\n');
    await Promise.all(running.map((socket) => arrived(socket, '"refused":1')));
    expect((await importing('')).status).toBe(200);
  });

  it('refuses other types', async () => {
    const answer = await importing('{"id":1,"name":"a"}', { 'Content-Type': 'application/json' });
    expect(answer).toMatchObject({ status: 415, json: { error: 41500 } });
    expect(answer.headers.get('accept-post')).toBe('application/x-ndjson');
    expect(answer.json['message']).toContain('must be application/x-ndjson in UTF-8');
    expect(
      (await importing('{}', { 'Content-Type': 'application/x-ndjson; charset=UTF-8' })).status,
    ).toBe(200);
  });

  it.each([
    ['dry_run=1', 'there is no parameter "dry_run"'],
    ['tag=a&tag=b', 'there is no parameter "tag"'],
    ['__proto__=1', 'there is no parameter "__proto__"'],
    ['%ff', 'the query is not percent-encoded UTF-8'],
  ])('refuses the parameters ?%s, and stores nothing', async (query, message) => {
    const answer = await service.request('POST', `/plants/import?${query}`, {
      headers: NDJSON,
      body: '{"id":1,"name":"a"}',
    });
    expect(answer).toMatchObject({ status: 400, json: { error: 40004, message } });
    expect(await stored()).toEqual([]);
  });

  it('needs no parameters for a query that is empty', async () => {
    const answer = await service.request('POST', '/plants/import?', { headers: NDJSON, body: '' });
    expect(answer.status).toBe(200);
  });
});

describe('GET /plants/export', () => {
  it('answers with all plants in ascending order of their ids, digit for digit', async () => {
    await importing(
      `{"id":${MAX},"name":"Aloe","tag":""}\n{"id":7,"name":"a\\nb"}\n{"id":${MIN},"name":""}\n`,
    );
    const answer = await exporting();
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    expect(answer.text).toBe(
      `{"id":${MIN},"name":""}\n{"id":7,"name":"a\\nb"}\n{"id":${MAX},"name":"Aloe","tag":""}\n\n`,
    );
  });

  it.each([
    ['an empty store', 0],
    ['a page that is full', 1_000],
    ['several pages', 2_001],
    ['more pages', 3_001],
  ])('has every plant once, and ends with the only empty line: %s', async (_, count) => {
    await fill(count);
    const answer = await exporting();
    const ids = Array.from({ length: count }, (_item, index) => index + 1);
    expect(linesOf(answer).map(({ id }) => id)).toEqual(ids);
    expect(answer.text.split('\n').indexOf('')).toBe(count);
    expect(answer.text.split('\n')).toHaveLength(count + 2);
  });

  it('has the filters of the list, and continues after an id', async () => {
    await importing(
      ndjson(
        { id: 1, name: 'Monstera', tag: 'indoor' },
        { id: 2, name: 'Aloe', tag: 'indoor' },
        { id: 3, name: 'MONSTERA' },
      ),
    );
    const ids = async (query: string) => linesOf(await exporting(query)).map(({ id }) => id);
    expect(await ids('?tag=indoor')).toEqual([1, 2]);
    expect(await ids('?name=monst')).toEqual([1, 3]);
    expect(await ids('?after=1')).toEqual([2, 3]);
    expect(await ids('?after=1&tag=indoor')).toEqual([2]);
    for (const query of ['?limit=1', '?name=ab', '?after=x', '?tag=a&tag=b']) {
      expect(await exporting(query)).toMatchObject({ status: 400, json: { error: 40004 } });
    }
  });

  it.each([
    ['after', ['/plants?limit=1000', '/plants/export']],
    ['before', ['/plants/export', '/plants?limit=1000']],
  ])('can be read %s the largest page of a list, by the same connection', async (_, paths) => {
    const fresh = await startTestService();
    try {
      for (const path of paths) expect((await fresh.request('GET', path)).status).toBe(200);
    } finally {
      await fresh.stop();
    }
  });

  it('can be imported, and gives the same store byte for byte', async () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 20 })
      .map((value) => value.replaceAll('\0', ''));
    const plant = fc.record({
      id: fc.bigInt({ min: MIN, max: MAX }),
      name: text,
      tag: fc.option(text, { nil: undefined }),
    });
    const plants = fc.uniqueArray(plant, { selector: ({ id }) => id, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(plants, async (all) => {
        await service.database.empty();
        const lines = all.map(({ id, name, tag }) =>
          JSON.stringify({ name, tag }).replace('{', `{"id":${id},`),
        );
        expect((await importing(lines.join('\n'))).json).toMatchObject({ created: all.length });
        const before = await stored();
        const { text: exported } = await exporting();
        await service.database.empty();
        expect((await importing(exported)).json).toMatchObject({ created: all.length });
        expect(await stored()).toEqual(before);
        expect((await exporting()).text).toBe(exported);
      }),
      { numRuns: 20 },
    );
  });

  it('answers HEAD without a body', async () => {
    await fill(5);
    expect(await service.request('HEAD', '/plants/export')).toMatchObject({
      status: 200,
      text: '',
    });
  });
});

it('a path below /plants that is neither import nor export is an id', async () => {
  expect(await service.request('GET', '/plants/imports')).toMatchObject({
    status: 400,
    json: { error: 40004 },
  });
});
