import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SECURITY_HEADERS } from '../../packages/framework/src/http/server/security-headers.js';
import { allowOf } from '../support/operations.js';
import {
  afterProcessTime,
  PATIENCE,
  processTimeOf,
} from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import type { RawAnswer } from '../../packages/framework/test/support/raw-socket.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** BODY_LIMIT of the service. */
const LIMIT = 1024;

/** Longest drain of refused connections. */
const DRAIN = { bytes: 64 * 1024, milliseconds: 1_000 };

/** "At once": clearly before the end of a drain. */
const AT_ONCE = 700;

/** More than the limit, because bytes are read in chunks of 64 KB and machines are busy. */
const READ_AT_MOST = DRAIN.bytes + 6 * 64 * 1024;
const OPEN_AT_MOST = DRAIN.milliseconds + 1_500;

/** More than the system holds for a reader who has stopped reading. */
const FLOOD = 64 * 1024 * 1024;

const HOST = 'Host: plants.example';
const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
const JSON_TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';
const LAST_CHUNK = '0\r\n\r\n';
const EXPECT_CONTINUE = 'Expect: 100-continue';
const SECURITY_FIELDS = Object.fromEntries(
  Object.entries(SECURITY_HEADERS).map(([name, value]) => [name.toLowerCase(), value]),
);
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

let service: TestService;

/** A service with short timeouts, except of a body as a whole. */
let hasty: TestService;

/** A service that waits for a client as short a time as `hasty`, and for header fields as long as a busy machine may need. */
let idling: TestService;

const HASTY_LIMITS = {
  headers: 500,
  bodyIdle: 1_200,
  rejectedBody: 2_000,
  socketIdle: 2_000,
};

/** Of `hasty`, in seconds. */
const KEEP_ALIVE = 3;

const sockets: RawSocket[] = [];

beforeAll(async () => {
  [service, hasty, idling] = await Promise.all([
    startTestService({ environment: { BODY_LIMIT: '1kb' } }),
    startTestService({
      limits: HASTY_LIMITS,
      environment: { KEEP_ALIVE_TIMEOUT: String(KEEP_ALIVE) },
    }),
    startTestService({ limits: { socketIdle: HASTY_LIMITS.socketIdle } }),
  ]);
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all([service.stop(), hasty.stop(), idling.stop()]);
});

// After every test, the service still answers.
afterEach(async () => {
  expect((await answerTo(creating(newPlant()))).status).toBe(200);
});

async function open({ port }: TestService = service): Promise<RawSocket> {
  const socket = await RawSocket.open(port);
  sockets.push(socket);
  return socket;
}

/** Opens a connection, and sends something. */
async function sending(bytes: string | Uint8Array, to?: TestService): Promise<RawSocket> {
  const socket = await open(to);
  socket.send(bytes);
  return socket;
}

/** Expects answers with these statuses, one after the other. */
async function expectAnswers(socket: RawSocket, ...statuses: readonly number[]): Promise<void> {
  for (const status of statuses) expect(await socket.answer()).toMatchObject({ status });
}

async function answerTo(bytes: string | Uint8Array): Promise<RawAnswer> {
  const socket = await sending(bytes);
  const answer = await socket.answer();
  socket.destroy();
  return answer;
}

/** Sends a request that must be refused, and expects the end of the connection after the refusal. */
async function refusalOf(bytes: string | Uint8Array, error: number): Promise<RawAnswer> {
  const socket = await sending(bytes);
  const answer = await expectRefusal(socket, error);
  await expectEnd(socket);
  return answer;
}

/** Expects an Error that announces the end of the connection. */
async function expectRefusal(
  socket: RawSocket,
  error: number,
  within = PATIENCE,
): Promise<RawAnswer> {
  const answer = await socket.answer({ within });
  expectError(answer, error);
  expect(answer.headers['connection']).toBe('close');
  return answer;
}

/** Expects the end of the connection, and no other answer. */
async function expectEnd(socket: RawSocket, within = AT_ONCE): Promise<void> {
  await socket.end(within);
  expect(socket.rest).toBe('');
}

async function untilDestroyed(peer: Socket, within: number): Promise<void> {
  if (peer.closed) return;
  await new Promise<void>((resolve, reject) => {
    const cancel = afterProcessTime(within, () => reject(new Error('still open')));
    peer.once('close', () => {
      cancel();
      resolve();
    });
  });
}

/** Expects nothing after the last answer, also after a half-close. */
async function expectLast(socket: RawSocket): Promise<void> {
  socket.sendEnd();
  await expectEnd(socket);
}

/** Expects that the service does not read what is sent without end. */
async function expectReadLimit(socket: RawSocket): Promise<void> {
  expect(await socket.flood(FLOOD)).toBeLessThan(FLOOD);
  expect(socket.peer?.bytesRead).toBeLessThan(READ_AT_MOST);
}

function expectError({ status, headers, body }: RawAnswer, error: number): void {
  expect(JSON.parse(body)).toStrictEqual({ error, message: expect.stringMatching(/\w/) as string });
  expect(status).toBe(Math.floor(error / 100));
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...SECURITY_FIELDS,
    'x-request-id': expect.stringMatching(UUID) as string,
  });
}

function head(...lines: readonly string[]): string {
  return [...lines, '', ''].join('\r\n');
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function repeated(line: string, times: number): string[] {
  return Array<string>(times).fill(line);
}

let plants = 0;

/** The JSON of a plant with a new id. */
function newPlant(name = 'Fern'): string {
  return JSON.stringify({ id: ++plants, name });
}

function pathOf(plant: string): string {
  return `/plants/${(JSON.parse(plant) as { id: number }).id}`;
}

/** A valid request with its body. */
function creating(plant: string, ...fields: readonly string[]): string {
  return creatingHead(`Content-Length: ${Buffer.byteLength(plant)}`, ...fields) + plant;
}

/** The head of a valid request, with a given length of its body. */
function creatingHead(...fields: readonly string[]): string {
  return head('POST /plants HTTP/1.1', HOST, AUTHORIZATION, JSON_TYPE, ...fields);
}

function getting(path: string, ...fields: readonly string[]): string {
  return head(`GET ${path} HTTP/1.1`, HOST, AUTHORIZATION, ...fields);
}

/** A plant whose JSON has this many bytes. */
function plantOf(bytes: number): string {
  const plant = newPlant('');
  return plant.replace('""', `"${'x'.repeat(bytes - plant.length)}"`);
}

describe('malformed HTTP is refused with an Error, and the connection closed', () => {
  it.each([
    ['no HTTP at all', 'How do you do?\r\n\r\n'],
    ['a TLS handshake', Buffer.from('16030100c5010000c10303', 'hex')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a request line without a version', head('GET /plants/1', HOST)],
    ['version HTTP/0.9', head('GET /plants/1 HTTP/0.9', HOST)],
    ['version HTTP/2.0', head('GET /plants/1 HTTP/2.0', HOST)],
    ['version HTTP/9.9', head('GET /plants/1 HTTP/9.9', HOST)],
    ['another protocol', head('GET /plants/1 FTP/1.1', HOST)],
    ['an unknown method', head('BREW /plants HTTP/1.1', HOST)],
    ['a method in lower case', head('post /plants HTTP/1.1', HOST)],
    ['a path with a space', head('GET /pl ants HTTP/1.1', HOST)],
    ['a path without a slash', head('GET plants HTTP/1.1', HOST)],
    ['a path with raw bytes', head('GET /plants/\u00e9 HTTP/1.1', HOST)],
    ['a path with U+0000', head('GET /plants/\0 HTTP/1.1', HOST)],
    ['a header field without a colon', getting('/plants/1', 'Colour')],
    ['a header field without a name', getting('/plants/1', ': green')],
    ['a space before the colon', getting('/plants/1', 'Colour : green')],
    ['a space in the name of a header field', getting('/plants/1', 'Leaf colour: green')],
    ['a control character in a header field', getting('/plants/1', 'Colour: gr\u0001een')],
    ['U+0000 in a header field', getting('/plants/1', 'Colour: gr\0een')],
    ['a lone carriage return in a header field', getting('/plants/1', 'Colour: gr\reen: x')],
    ['lone line feeds', getting('/plants/1').replaceAll('\r', '')],
    ['a folded header field', getting('/plants/1', 'Colour: green', ' and yellow')],
    ['a folded first header field', head('GET /plants/1 HTTP/1.1', ' Colour: green', HOST)],
  ])('%s', async (_, bytes) => {
    await refusalOf(bytes, 40000);
  });

  it('with a request id that is in the log', async () => {
    const { headers } = await refusalOf('How do you do?\r\n\r\n', 40000);
    expect(service.log).toContainEqual(
      expect.objectContaining({ requestId: headers['x-request-id'], status: 400, error: 40000 }),
    );
  });

  it('and further bytes are read only up to a limit', async () => {
    const socket = await sending('How do you do?\r\n\r\n');
    expectError(await socket.answer(), 40000);
    await expectReadLimit(socket);
  });
});

describe('header fields that are too large are refused with 431', () => {
  it.each([
    ['one long header field', getting('/plants/1', `Colour: ${'a'.repeat(20_000)}`)],
    ['a header field that does not end', `GET / HTTP/1.1\r\nColour: ${'a'.repeat(20_000)}`],
    ['a long name of a header field', getting('/plants/1', `${'a'.repeat(20_000)}: green`)],
    ['many header fields', getting('/plants/1', ...repeated(`Colour: ${'a'.repeat(100)}`, 200))],
    ['a long path', getting(`/plants/${'1'.repeat(20_000)}`)],
    ['a long query', getting(`/plants/1?${'a'.repeat(20_000)}`)],
  ])('%s', async (_, bytes) => {
    await refusalOf(bytes, 43100);
  });

  it('and below the limit every header field is read, however many there are', async () => {
    const many = repeated('a:', 1_500);
    const plant = newPlant();
    const request = head(
      'POST /plants HTTP/1.1',
      ...many,
      HOST,
      AUTHORIZATION,
      JSON_TYPE,
      `Content-Length: ${plant.length}`,
    );
    expect(await answerTo(request + plant)).toMatchObject({ status: 200 });
    expectError(await answerTo(getting('/plants/1', ...many, HOST)), 40000);
  });
});

describe('a body with faulty framing is refused, and the connection closed', () => {
  const plant = newPlant();
  const whole = chunk(plant) + LAST_CHUNK;

  it.each([
    ['a Content-Length and a Transfer-Encoding', [`Content-Length: ${plant.length}`, CHUNKED]],
    ['a Transfer-Encoding and a Content-Length', [CHUNKED, `Content-Length: ${plant.length}`]],
    ['two different Content-Lengths', [`Content-Length: ${plant.length}`, 'Content-Length: 5']],
    ['the same Content-Length twice', repeated(`Content-Length: ${plant.length}`, 2)],
    ['a list as Content-Length', [`Content-Length: ${plant.length}, ${plant.length}`]],
    ['a negative Content-Length', ['Content-Length: -1']],
    ['a Content-Length with a sign', [`Content-Length: +${plant.length}`]],
    ['a Content-Length with a fraction', [`Content-Length: ${plant.length}.0`]],
    ['a hexadecimal Content-Length', ['Content-Length: 0x10']],
    ['a Content-Length in words', ['Content-Length: twenty']],
    ['an empty Content-Length', ['Content-Length:']],
    ['a Content-Length beyond 64 bits', ['Content-Length: 99999999999999999999']],
    ['an unknown Transfer-Encoding', ['Transfer-Encoding: gzip']],
    ['an unknown Transfer-Encoding before chunked', ['Transfer-Encoding: gzip, chunked']],
    ['the same in two lines', ['Transfer-Encoding: gzip', CHUNKED]],
    ['chunked before another Transfer-Encoding', ['Transfer-Encoding: chunked, gzip']],
    ['chunked twice', ['Transfer-Encoding: chunked, chunked']],
    ['almost chunked', ['Transfer-Encoding: xchunked']],
    ['chunked in quotes', ['Transfer-Encoding: "chunked"']],
    ['the Transfer-Encoding identity', ['Transfer-Encoding: identity']],
    ['an empty Transfer-Encoding', ['Transfer-Encoding:']],
  ])('%s', async (_, fields) => {
    await refusalOf(creatingHead(...fields) + whole, 40000);
  });

  it('chunked in HTTP/1.0, which does not support it', async () => {
    const start = creatingHead(CHUNKED).replace('HTTP/1.1', 'HTTP/1.0');
    const { body } = await refusalOf(start + whole, 40000);
    expect(JSON.parse(body)).toHaveProperty(
      'message',
      expect.stringContaining('HTTP/1.0 does not support Transfer-Encoding'),
    );
  });

  it.each([
    ['a chunk size that is no number', 'zz\r\n'],
    ['a negative chunk size', '-5\r\nhello\r\n'],
    ['a chunk size beyond 64 bits', 'fffffffffffffffff\r\n'],
    ['an empty chunk size', '\r\nhello\r\n'],
    ['a chunk longer than its size', `5\r\nhello, world\r\n${LAST_CHUNK}`],
  ])('%s', async (_, bytes) => {
    await refusalOf(creatingHead(CHUNKED) + bytes, 40000);
  });

  it('a chunk extension that is too long, with 413', async () => {
    await refusalOf(`${creatingHead(CHUNKED)}5;${'a'.repeat(20_000)}`, 41300);
  });

  it.each([
    ['chunks of any size', plant.replace(/./g, (byte) => chunk(byte)) + LAST_CHUNK],
    ['a chunk extension', `${plant.length.toString(16)};fresh=yes\r\n${plant}\r\n${LAST_CHUNK}`],
    ['a trailer', `${chunk(plant)}0\r\nColour: green\r\n\r\n`],
  ])('but %s is fine', async (_, bytes) => {
    expect(await answerTo(creatingHead(CHUNKED) + bytes)).toMatchObject({ status: 200 });
  });
});

describe('the Host header', () => {
  it.each([
    ['is missing', []],
    ['is there twice', [HOST, 'Host: other.example']],
    ['is there twice with the same value', [HOST, HOST]],
    ['is there twice in different cases', [HOST, HOST.replace('Host', 'hOST')]],
    ['is no host', ['Host: plants example']],
    ['is a URL', ['Host: http://plants.example/']],
    ['has a port that is no number', ['Host: plants.example:http']],
  ])('is refused when it %s', async (_, hosts) => {
    expectError(await answerTo(head('GET /plants/1 HTTP/1.1', ...hosts, AUTHORIZATION)), 40000);
  });

  it.each([['plants.example:8080'], ['127.0.0.1'], ['[::1]:3000'], ['']])(
    'may be "%s"',
    async (host) => {
      const plant = newPlant();
      const bytes = creating(plant).replace(HOST, `Host: ${host}`);
      expect(await answerTo(bytes)).toMatchObject({ status: 200 });
    },
  );

  it('may be missing in HTTP/1.0, but not occur twice', async () => {
    const bytes = creating(newPlant()).replace('HTTP/1.1', 'HTTP/1.0');
    const answer = await answerTo(bytes.replace(`${HOST}\r\n`, ''));
    expect(answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expectError(await answerTo(bytes.replace(HOST, `${HOST}\r\n${HOST}`)), 40000);
  });
});

describe('methods and targets', () => {
  it.each(['TRACE', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'PURGE'])(
    '%s is refused with 405 and the allowed methods',
    async (method) => {
      const answer = await answerTo(head(`${method} /docs HTTP/1.1`, HOST));
      expectError(answer, 40500);
      expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
    },
  );

  it.each(['plants.example:443', '/plants'])('CONNECT %s is refused with 405', async (target) => {
    const answer = await refusalOf(head(`CONNECT ${target} HTTP/1.1`, HOST), 40500);
    expect(answer.headers).toHaveProperty('allow');
  });

  it('CONNECT is answered after the request before it', async () => {
    const socket = await sending(
      creating(newPlant()) + head('CONNECT plants.example:443 HTTP/1.1', HOST),
    );
    expect(await socket.answer()).toMatchObject({ status: 200 });
    expectError(await socket.answer(), 40500);
    await socket.end(AT_ONCE);
  });

  it('OPTIONS names the media types of PATCH, where a plant can be patched', async () => {
    const types = 'application/merge-patch+json, application/json';
    const plant = await answerTo(head('OPTIONS /plants/1 HTTP/1.1', HOST));
    expect(plant).toMatchObject({ status: 204, headers: { 'accept-patch': types } });
    const collection = await answerTo(head('OPTIONS /plants HTTP/1.1', HOST));
    expect(collection.headers['accept-patch']).toBeUndefined();
  });

  it('OPTIONS * returns the methods of all paths without a token', async () => {
    const answer = await answerTo(head('OPTIONS * HTTP/1.1', HOST));
    const allow = allowOf('*');
    expect(answer).toMatchObject({ status: 204, headers: { allow }, body: '' });
    await refusalOf(head('GET * HTTP/1.1', HOST), 40000);
  });

  it.each([
    ['its own name', 'http://plants.example'],
    ['another name, as a proxy may', 'http://127.0.0.1:3000'],
    ['https', 'HTTPS://plants.example'],
  ])('a target may be a whole URL, with %s', async (_, url) => {
    const plant = newPlant();
    expect(await answerTo(creating(plant))).toMatchObject({ status: 200 });
    const answer = await answerTo(getting(`${url}${pathOf(plant)}?fresh=yes`));
    expect(answer).toMatchObject({ status: 200, body: plant });
  });

  it.each([
    'http://',
    'http:///plants/1',
    'http://[::1/plants/1',
    'http://plants.example:port/plants/1',
    'http://plants example/plants/1',
  ])('a target that is a broken URL is refused: %s', async (url) => {
    expectError(await answerTo(getting(url)), 40000);
  });

  it.each([
    ['GET /plants/%', 40000],
    ['GET /plants/%zz', 40000],
    ['GET /plants/%E0%A4%A', 40000],
    ['GET /plants/%FF', 40000],
    ['GET /plants/%c0%af', 40000],
    ['POST /plants/%zz', 40000],
    ['OPTIONS /plants/%zz', 40000],
    ['GET /%zz', 40400],
    ['GET /plants/../plants/1', 40400],
    ['GET /plants%2F1', 40400],
    ['GET /plants/%00', 40004],
  ])('%s is refused with %i', async (line, error) => {
    expectError(await answerTo(head(`${line} HTTP/1.1`, HOST, AUTHORIZATION)), error);
  });

  it('a GET may have a body, which is ignored', async () => {
    const plant = newPlant();
    expect(await answerTo(creating(plant))).toMatchObject({ status: 200 });
    const bytes = `${getting(pathOf(plant), 'Content-Length: 5')}hello`;
    expect(await answerTo(bytes)).toMatchObject({ status: 200, body: plant });
  });

  it('an Upgrade is ignored', async () => {
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
    expectError(await answerTo(getting('/plants/0', ...upgrade)), 40401);
    const h2c = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];
    expect(await answerTo(creating(newPlant(), ...h2c))).toMatchObject({ status: 200 });
  });
});

describe('Expect: 100-continue', () => {
  it.each([
    ['a body of known length', (plant: string) => [`Content-Length: ${plant.length}`, plant]],
    ['a chunked body', (plant: string) => [CHUNKED, chunk(plant) + LAST_CHUNK]],
  ])('gets 100 Continue for %s when the body will be read', async (_, of) => {
    const [field = '', body = ''] = of(newPlant());
    const socket = await sending(creatingHead(field, EXPECT_CONTINUE.toUpperCase()));
    expect(await socket.answer()).toStrictEqual({ status: 100, headers: {}, body: '' });
    socket.send(body);
    expect(await socket.answer()).toMatchObject({ status: 200 });
    socket.send(creating(newPlant()));
    expect(await socket.answer()).toMatchObject({ status: 200 });
  });

  it('gets the final answer when the body has already arrived', async () => {
    const socket = await sending(creating(newPlant(), EXPECT_CONTINUE));
    let answer = await socket.answer();
    if (answer.status === 100) answer = await socket.answer();
    expect(answer.status).toBe(200);
  });

  const stranger = ['POST /plants HTTP/1.1', HOST, JSON_TYPE];
  const friend = ['POST /plants HTTP/1.1', HOST, AUTHORIZATION];
  it.each([
    ['without a token', 40100, [...stranger, 'Content-Length: 10']],
    ['without a token, chunked', 40100, [...stranger, CHUNKED]],
    ['when it is too long', 41300, [...friend, JSON_TYPE, `Content-Length: ${LIMIT + 1}`]],
    ['of a wrong type', 41500, [...friend, 'Content-Type: text/plain', 'Content-Length: 10']],
    ['for an unknown path', 40400, ['POST /plant HTTP/1.1', HOST, 'Content-Length: 10']],
    ['for a wrong method', 40500, ['PUT /docs HTTP/1.1', HOST, 'Content-Length: 10']],
    ['with two hosts', 40000, [...friend, HOST, JSON_TYPE, 'Content-Length: 10']],
    ['that is empty', 40002, [...friend, JSON_TYPE, 'Content-Length: 0']],
    ['together with something unknown', 41700, [...friend, 'Content-Length: 10', 'Expect: more']],
  ])('gets no 100 Continue for a body %s', async (_, error, lines) => {
    const socket = await sending(head(...lines, EXPECT_CONTINUE));
    expectError(await socket.answer({ within: AT_ONCE }), error);
    await expectLast(socket);
  });

  it('is ignored in HTTP/1.0', async () => {
    const bytes = creating(newPlant(), EXPECT_CONTINUE).replace('HTTP/1.1', 'HTTP/1.0');
    expect(await answerTo(bytes)).toMatchObject({ status: 200 });
  });

  it.each(['200-ok', '100-continue, more', '100-continued', ''])(
    'is the only expectation: "%s" is refused with 417',
    async (expectation) => {
      expectError(await answerTo(creating(newPlant(), `Expect: ${expectation}`)), 41700);
    },
  );
});

describe('a refused body', () => {
  const announced = 'Content-Length: 100000000';
  const friend = [HOST, AUTHORIZATION, JSON_TYPE];

  const REFUSALS: [string, number, string][] = [
    ['without a token', 40100, head('POST /plants HTTP/1.1', HOST, JSON_TYPE, announced)],
    [
      'with a wrong token',
      40101,
      head('POST /plants HTTP/1.1', HOST, `${AUTHORIZATION}x`, CHUNKED),
    ],
    ['for an unknown path', 40400, head('POST /plant HTTP/1.1', ...friend, announced)],
    ['for a wrong method', 40500, head('PUT /docs HTTP/1.1', ...friend, announced)],
    ['of a wrong length', 41300, creatingHead(announced)],
    [
      'of a wrong type',
      41500,
      creatingHead('Content-Length: 9').replace(JSON_TYPE, 'Content-Type: a/b'),
    ],
    ['with an unknown expectation', 41700, creatingHead(announced, 'Expect: more')],
    ['with two hosts', 40000, creatingHead(announced, HOST)],
  ];

  it.each(REFUSALS)('%s is refused before it arrives (%i)', async (_, error, bytes) => {
    const socket = await sending(bytes);
    await expectRefusal(socket, error, AT_ONCE);
    await expectLast(socket);
  });

  it('is refused before it arrives with HEAD, too', async () => {
    const socket = await sending(head('HEAD /plants/1 HTTP/1.1', HOST, announced));
    const answer = await socket.answer({ toHead: true, within: AT_ONCE });
    expect(answer).toMatchObject({ status: 401, headers: { connection: 'close' } });
    await expectLast(socket);
  });

  it.each([
    ['nothing', ''],
    ['little by little', 'x'],
  ])('is not awaited while a client keeps sending %s', async (_, piece) => {
    const refused = await Promise.all(
      REFUSALS.map(async ([, error, bytes]) => {
        const socket = await sending(bytes);
        expectError(await socket.answer(), error);
        return { socket, piece: piece && (bytes.includes(CHUNKED) ? chunk(piece) : piece) };
      }),
    );
    const trickle = setInterval(() => {
      for (const { socket, piece: next } of refused) socket.send(next);
    }, 200);
    await Promise.all(refused.map(({ socket }) => socket.end(OPEN_AT_MOST))).finally(() =>
      clearInterval(trickle),
    );
    expect(refused.map(({ socket }) => socket.rest).join('')).toBe('');
  });

  it.each([
    // The rest of an authenticated caller's body is read for longer.
    ...REFUSALS.filter(([, error, bytes]) => error !== 41300 && bytes.includes(announced)),
    ['that comes with a GET', 40100, head('GET /plants/1 HTTP/1.1', HOST, announced)],
    ['that comes with a HEAD', 200, head('HEAD /openapi.json HTTP/1.1', HOST, announced)],
    ['that comes with OPTIONS', 204, head('OPTIONS /plants HTTP/1.1', HOST, announced)],
    ['that the docs are sent', 200, head('GET /openapi.json HTTP/1.1', HOST, announced)],
    ['that the redirection to the docs is sent', 302, head('GET / HTTP/1.1', HOST, announced)],
  ])('%s is read only up to a limit (%i)', async (_, error, bytes) => {
    const socket = await sending(bytes);
    const { status } = await socket.answer({ toHead: bytes.startsWith('HEAD') });
    expect(status).toBe(error < 1_000 ? error : Math.floor(error / 100));
    await expectReadLimit(socket);
  });

  it('is read only up to a limit after many header fields', async () => {
    const many = repeated('a:', 1_500);
    const socket = await sending(head('POST /plants HTTP/1.1', HOST, ...many, announced));
    expectError(await socket.answer(), 40100);
    await expectReadLimit(socket);
  });

  it.each([
    ['60 KB', 60_000, AT_ONCE],
    ['a megabyte', 1_000_000, OPEN_AT_MOST],
  ])(
    'does not prevent a client that first sends %s from reading the answer',
    async (_, length, within) => {
      const socket = await open();
      const start = head('POST /plants HTTP/1.1', HOST, JSON_TYPE, `Content-Length: ${length}`);
      socket.send(start + 'x'.repeat(length));
      expectError(await socket.answer(), 40100);
      await expectEnd(socket, within);
    },
  );

  it.each([
    ['too long', creatingHead(announced)],
    ['of a wrong type', creatingHead(announced).replace(JSON_TYPE, 'Content-Type: a/b')],
    ['unexpected', getting('/plants/0', announced)],
  ])(
    'that is %s does not prevent an authenticated client from reading the answer',
    async (_, bytes) => {
      const socket = await sending(bytes);
      const sent = 20 * 1024 * 1024;
      expect(await socket.flood(sent)).toBe(sent);
      expect(await socket.answer()).toMatchObject({ headers: { connection: 'close' } });
      await expectLast(socket);
      expect(socket.peer?.bytesRead).toBeGreaterThan(READ_AT_MOST);
    },
  );

  it('is discarded for a limited time, for an authenticated client', async () => {
    const socket = await sending(creatingHead('Content-Length: 100000000000'), hasty);
    expect(await socket.answer()).toMatchObject({ status: 413 });
    const start = performance.now();
    const taken = await processTimeOf(socket.flood(Infinity));
    expect(taken).toBeLessThan(HASTY_LIMITS.rejectedBody + OPEN_AT_MOST);
    expect(performance.now() - start).toBeGreaterThan(HASTY_LIMITS.rejectedBody - 500);
  });

  it('that is malformed does not change the answer', async () => {
    const socket = await sending(head('POST /plants HTTP/1.1', HOST, JSON_TYPE, CHUNKED));
    expectError(await socket.answer(), 40100);
    socket.send('zz\r\n');
    await expectEnd(socket);
  });
});

describe('the length of a body', () => {
  const inOne = (plant: string) => creatingHead(CHUNKED) + chunk(plant);

  it('may be exactly the limit', async () => {
    expect(await answerTo(creating(plantOf(LIMIT)))).toMatchObject({ status: 200 });
    const chunked = inOne(plantOf(LIMIT)) + LAST_CHUNK;
    expect(await answerTo(chunked)).toMatchObject({ status: 200 });
  });

  it.each([
    ['one byte more, announced', creatingHead(`Content-Length: ${LIMIT + 1}`)],
    ['one byte more, sent', creating(plantOf(LIMIT + 1))],
    ['far more than a number holds exactly', creatingHead('Content-Length: 9007199254740993')],
    ['one byte more in one chunk', inOne(plantOf(LIMIT + 1))],
    ['one byte more in a second chunk', inOne(plantOf(LIMIT)) + chunk(' ')],
    ['one byte more in single bytes', creatingHead(CHUNKED) + chunk(' ').repeat(LIMIT + 1)],
  ])('must not be %s', async (_, bytes) => {
    const socket = await sending(bytes);
    await expectRefusal(socket, 41300, AT_ONCE);
    socket.destroy();
  });

  it.each([
    ['nothing at all', '', ''],
    ['a Content-Length of 0', 'Content-Length: 0', ''],
    ['only the last chunk', CHUNKED, LAST_CHUNK],
  ])('must not be zero: %s is refused as missing, with any type', async (_, field, body) => {
    const socket = await open();
    for (const type of [JSON_TYPE, 'Content-Type: text/plain', 'Content-Encoding: gzip', '']) {
      const lines = ['POST /plants HTTP/1.1', HOST, AUTHORIZATION, type, field];
      socket.send(head(...lines.filter((line) => line !== '')) + body);
      expectError(await socket.answer(), 40002);
    }
    socket.send(creating(newPlant()));
    expect(await socket.answer()).toMatchObject({ status: 200 });
  });

  it('may be unknown: a wrong type is refused after the first byte', async () => {
    const socket = await sending(
      `${creatingHead(CHUNKED).replace(JSON_TYPE, 'Content-Type: a/b')}5\r\n{`,
    );
    expectError(await socket.answer({ within: AT_ONCE }), 41500);
    await expectLast(socket);
  });
});

describe.concurrent('timeouts', () => {
  /** Between two checks of Node. */
  const LATE = HASTY_LIMITS.headers + 1_000 + 1_000;

  it.each([
    ['nothing', ''],
    ['half a request line', 'POST /pla'],
    ['half a header', creatingHead().slice(0, -2)],
  ])('for a client that sends %s: 408', async (_, bytes) => {
    const socket = await sending(bytes, hasty);
    await expectLate(socket);
  });

  it('for a client that sends incomplete header fields after a complete request: 408', async () => {
    const socket = await sending(creating(newPlant()) + creatingHead().slice(0, -2), hasty);
    expect(await socket.answer()).toMatchObject({ status: 200 });
    await expectLate(socket);
  });

  async function expectLate(socket: RawSocket): Promise<void> {
    await expectRefusal(socket, 40800, LATE);
    await expectEnd(socket);
  }

  it('for header fields that trickle: 408', async () => {
    const socket = await sending(creatingHead().slice(0, -2), hasty);
    const trickle = setInterval(() => socket.send('Colour: green\r\n'), 100);
    expectError(await socket.answer({ within: LATE }), 40800);
    await socket.end(OPEN_AT_MOST).finally(() => clearInterval(trickle));
  });

  it.each([
    ['does not come', creatingHead('Content-Length: 50')],
    ['stops', `${creatingHead('Content-Length: 50')}{"id":`],
    ['stops between two chunks', creatingHead(CHUNKED) + chunk('{"id":')],
    ['stops within a chunk', `${creatingHead(CHUNKED)}5\r\n{"i`],
    ['lacks its last chunk', creatingHead(CHUNKED) + chunk(newPlant())],
  ])('for a body that %s: 408', async (_, bytes) => {
    const socket = await sending(bytes, hasty);
    await expectRefusal(socket, 40800, HASTY_LIMITS.bodyIdle + 1_000);
    await expectLast(socket);
  });

  it('do not apply to a body that keeps arriving', async () => {
    const plant = newPlant('Slow but steady');
    const pause = 2 * (HASTY_LIMITS.bodyIdle / plant.length);
    let longest: number;
    let answer: RawAnswer | undefined;
    // If a busy machine delays a byte, all are sent again.
    do {
      const socket = await open(hasty);
      const start = performance.now();
      longest = 0;
      socket.send(creatingHead(`Content-Length: ${plant.length}`));
      for (const byte of plant) {
        const sent = performance.now();
        await sleep(pause);
        longest = Math.max(longest, performance.now() - sent);
        socket.send(byte);
      }
      answer = await socket.answer().catch(() => undefined);
      expect(performance.now() - start).toBeGreaterThan(HASTY_LIMITS.bodyIdle);
    } while (answer?.status !== 200 && longest > HASTY_LIMITS.bodyIdle / 2);
    expect(answer).toMatchObject({ status: 200 });
  });

  it('apply to a body as a whole: 408', async () => {
    const body = 3_000;
    const strict = await startTestService({ limits: { body } });
    const socket = await open(strict);
    const start = performance.now();
    socket.send(creatingHead('Content-Length: 1000'));
    const dripping = setInterval(() => socket.send(' '), 100);
    const answer = await socket
      .answer({ within: body + 1_000 })
      .finally(() => clearInterval(dripping));
    expectError(answer, 40800);
    expect(performance.now() - start).toBeGreaterThan(body - 2);
    socket.destroy();
    await strict.stop();
  });

  it.each([
    ['', ''],
    [', even while blank lines arrive', '\r\n'],
  ])('close an idle connection after KEEP_ALIVE_TIMEOUT, without an answer%s', async (_, piece) => {
    const socket = await sending(creating(newPlant()), hasty);
    // The field tells the client how long it may use the connection.
    const headers = { 'keep-alive': `timeout=${KEEP_ALIVE}` };
    expect(await socket.answer()).toMatchObject({ status: 200, headers });
    const start = performance.now();
    const trickle = setInterval(() => socket.send(piece), 100);
    await socket.end().finally(() => clearInterval(trickle));
    expect(performance.now() - start).toBeGreaterThan(KEEP_ALIVE * 1_000 - 500);
    expect(socket.rest).toBe('');
  });

  it('for header fields that begin at the end of the idle time: 408', async () => {
    const patient = await startTestService({
      limits: { headers: 3_000 },
      environment: { KEEP_ALIVE_TIMEOUT: '2' },
    });
    const socket = await sending(creating(newPlant()), patient);
    expect(await socket.answer()).toMatchObject({ status: 200 });
    socket.send(creatingHead().slice(0, -2));
    const trickle = setInterval(() => socket.send('Colour: green\r\n'), 100);
    const answer = socket.answer({ within: 10_000 }).finally(() => clearInterval(trickle));
    expectError(await answer, 40800);
    socket.destroy();
    await patient.stop();
  });

  /** More than the system holds for a reader who has stopped reading. */
  const longAnswers = (id: string) =>
    getting('/docs/swagger-ui-bundle.js', `X-Request-Id: ${id}`).repeat(40);

  it.each([
    ['sends nothing more', ''],
    ['sends blank lines', '\r\n'],
    ['sends rubbish', 'How do you do?\r\n'],
    ['sends a header bit by bit', 'Colour: green\r\n'],
  ])('for a client that does not read its answers, and %s', async (what, piece) => {
    const socket = await open(idling);
    const requestId = what.replaceAll(' ', '-');
    socket.stopReading();
    socket.send(longAnswers(requestId));
    const peer = await vi.waitUntil(() => socket.peer, { interval: 5, timeout: PATIENCE });
    const trickle = setInterval(() => socket.send(piece), 100);
    await untilDestroyed(peer, HASTY_LIMITS.socketIdle + 10_000).finally(() =>
      clearInterval(trickle),
    );
    const msg = 'request abandoned by the client';
    await vi.waitFor(
      () => expect(idling.log).toContainEqual(expect.objectContaining({ msg, requestId })),
      PATIENCE,
    );
  });

  it('do not apply to a client that reads its answers slowly', async () => {
    const socket = await open(idling);
    socket.stopReading();
    socket.send(longAnswers('slow'));
    const start = performance.now();
    while (performance.now() - start < 2.5 * HASTY_LIMITS.socketIdle) {
      await sleep(HASTY_LIMITS.socketIdle / 4);
      await socket.skip(1_500_000);
    }
    expect(socket.peer?.destroyed).toBe(false);
    socket.destroy();
  });
});

describe('a body that has arrived in time', () => {
  it.each([
    [
      'its rest',
      (plant: string) => creatingHead(`Content-Length: ${plant.length}`),
      (plant: string) => plant,
    ],
    ['its last chunk', (plant: string) => creatingHead(CHUNKED) + chunk(plant), () => LAST_CHUNK],
  ])('is not late because the service was busy and has not read %s', async (_, start, rest) => {
    const bodyIdle = 300;
    const busy = await startTestService({ limits: { bodyIdle } });
    const plant = newPlant();
    const socket = await sending(start(plant), busy);
    await vi.waitUntil(() => socket.peer?.bytesRead === start(plant).length, PATIENCE);
    socket.send(rest(plant));
    const busyUntil = performance.now() + 2 * bodyIdle;
    while (performance.now() < busyUntil);
    expect(await socket.answer()).toMatchObject({ status: 200 });
    await busy.stop();
  });
});

describe('a connection is kept alive', () => {
  it('for further requests, also after a refusal', async () => {
    const socket = await open();
    const plant = newPlant();
    for (const [bytes, status] of [
      [creating(plant), 200],
      [getting(pathOf(plant)), 200],
      [creating('{'), 400],
      [getting('/plants/x'), 400],
      [getting('/plants/0'), 404],
      [getting('/nothing'), 404],
      [head('GET /plants/1 HTTP/1.1', HOST), 401],
      [head('DELETE /docs HTTP/1.1', HOST), 405],
      [head('OPTIONS /plants HTTP/1.1', HOST), 204],
      [creating(plant), 200],
    ] as const) {
      socket.send(bytes);
      await expectAnswers(socket, status);
    }
    expect(socket.ended).toBe(false);
  });

  it('with HEAD, whose answer has no body', async () => {
    const socket = await open();
    const plant = newPlant();
    socket.send(creating(plant));
    expect(await socket.answer()).toMatchObject({ status: 200 });
    socket.send(getting(pathOf(plant)).replace('GET', 'HEAD'));
    const answer = await socket.answer({ toHead: true });
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'content-length': String(plant.length) },
    });
    // A body would precede this answer.
    socket.send(head('HEAD /plants/1 HTTP/1.1', HOST) + creating(plant));
    expect(await socket.answer({ toHead: true })).toMatchObject({ status: 401 });
    expect(await socket.answer()).toMatchObject({ status: 200 });
  });

  it('with blank lines between the requests', async () => {
    const socket = await sending(`\r\n\r\n${creating(newPlant())}\r\n${creating(newPlant())}`);
    await expectAnswers(socket, 200, 200);
  });

  it.each([
    ['with the head', [`${creatingHead('Content-Length: 10')}{"id":"7"}`]],
    ['after the head', [creatingHead('Content-Length: 10'), '{"id":"7"}']],
    ['in chunks', [`${creatingHead(CHUNKED)}a\r\n{"id":"7"}\r\n${LAST_CHUNK}`]],
  ])('after a body with refused content, which arrived %s', async (_, [first = '', second]) => {
    const socket = await sending(first);
    if (second !== undefined) {
      await vi.waitUntil(() => socket.peer?.bytesRead, PATIENCE);
      socket.send(second);
    }
    const answer = await socket.answer();
    expect(answer).toMatchObject({ status: 400, headers: { connection: 'keep-alive' } });
    socket.send(creating(newPlant()));
    expect(await socket.answer()).toMatchObject({ status: 200 });
  });

  it('in HTTP/1.0 when the client asks for it', async () => {
    const socket = await open();
    const bytes = creating(newPlant(), 'Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0');
    for (const _ of [1, 2]) {
      socket.send(bytes);
      const answer = await socket.answer();
      expect(answer).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
    }
  });

  it('unless the client asks to close it', async () => {
    const socket = await sending(creating(newPlant(), 'Connection: close'));
    expect(await socket.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await socket.end(AT_ONCE);
  });

  it('while a request arrives byte by byte', async () => {
    const socket = await open();
    const bytes = creating(newPlant());
    for (const [index, byte] of bytes.split('').entries()) {
      socket.send(byte);
      await vi.waitUntil(() => socket.peer?.bytesRead === index + 1, {
        interval: 0,
        timeout: PATIENCE,
      });
    }
    expect(await socket.answer()).toMatchObject({ status: 200 });
  });
});

describe('connections', () => {
  it('above the limit are closed at once, until others close', async () => {
    const small = await startTestService({ limits: { connections: 2 } });
    try {
      const request = creating(newPlant());
      const [first, second, third] = [await open(small), await open(small), await open(small)];
      await third.end(AT_ONCE);
      for (const socket of [first, second]) {
        socket.send(request);
        expect((await socket.answer()).status).toBe(200);
      }
      first.destroy();
      await vi.waitFor(async () => {
        const next = await open(small);
        next.send(request);
        expect((await next.answer()).status).toBe(200);
      }, PATIENCE);
    } finally {
      await small.stop();
    }
  });
});

describe('pipelined requests', () => {
  it('are answered in order', async () => {
    const socket = await open();
    const names = Array.from({ length: 20 }, (_, index) => `Fern ${index}`);
    // The refusals between them are faster.
    socket.send(names.map((name) => creating(newPlant(name)) + getting('/nothing')).join(''));
    for (const name of names) {
      expect(await socket.answer()).toMatchObject({ status: 200, body: JSON.stringify({ name }) });
      expectError(await socket.answer(), 40400);
    }
  });

  it('see the effects of the requests before them', async () => {
    const socket = await open();
    const created = Array.from({ length: 10 }, () => newPlant());
    socket.send(created.map((plant) => creating(plant) + getting(pathOf(plant))).join(''));
    for (const plant of created) {
      expect(await socket.answer()).toMatchObject({ status: 200 });
      expect(await socket.answer()).toMatchObject({ status: 200, body: plant });
    }
  });

  it.each([
    ['rubbish', 'How do you do?\r\n\r\n', 40000],
    ['a head that is too long', getting(`/${'a'.repeat(20_000)}`), 43100],
    ['a malformed body', `${creatingHead(CHUNKED)}zz\r\n`, 40000],
  ])('are answered before %s that follows them', async (_, bytes, error) => {
    const socket = await sending(creating(newPlant('Fern')) + creating(newPlant('Moss')) + bytes);
    expect(await socket.answer()).toMatchObject({ status: 200, body: '{"name":"Fern"}' });
    expect(await socket.answer()).toMatchObject({ status: 200, body: '{"name":"Moss"}' });
    expectError(await socket.answer(), error);
    await expectEnd(socket, OPEN_AT_MOST);
  });

  it('are not handled after the last answer of a connection', async () => {
    const socket = await open();
    const plant = newPlant();
    const refused = head('POST /plants HTTP/1.1', HOST, JSON_TYPE, 'Content-Length: 100');
    socket.send(refused + 'x'.repeat(100) + creating(plant));
    const answer = await socket.answer();
    expectError(answer, 40100);
    await socket.end(OPEN_AT_MOST);
    const { status } = await answerTo(getting(pathOf(plant)));
    expect({ connection: answer.headers['connection'], rest: socket.rest, status }).toStrictEqual({
      connection: 'close',
      rest: '',
      status: 404,
    });
  });

  it('are limited to a hundred, and all answered up to the limit', async () => {
    const socket = await open();
    const name = `One of a thousand ${++plants}`;
    socket.send(Array.from({ length: 1_000 }, () => creating(newPlant(name))).join(''));
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429) statuses.push((await socket.answer()).status);
    await expectEnd(socket, OPEN_AT_MOST);
    const created = statuses.filter((status) => status === 200).length;
    expect(created).toBe(statuses.length - 1);
    expect(created).toBeGreaterThanOrEqual(100);
    // A place becomes free with each answer.
    expect(statuses.length).toBeLessThan(200);
    const stored = await service.database.query(`SELECT FROM plants WHERE name = '${name}'`);
    expect(stored).toHaveLength(created);
  });

  it('are answered before malformed bytes that follow them', async () => {
    const socket = await sending(
      `${creating(newPlant(), 'Connection: close')}How do you do?\r\n\r\n`,
    );
    expect(await socket.answer()).toMatchObject({ status: 200 });
    await expectEnd(socket);
  });
});

describe('a client that disconnects', () => {
  const crashes: unknown[] = [];
  const onCrash = (failure: unknown) => crashes.push(failure);

  beforeAll(() => process.on('uncaughtException', onCrash));
  afterAll(() => process.off('uncaughtException', onCrash));

  describe.each([
    ['orderly', 'destroy'],
    ['by a crash', 'reset'],
  ] as const)('%s', (_manner, leave) => {
    it.each([
      ['before it sent anything', ''],
      ['in the middle of a header', creatingHead().slice(0, -9)],
      ['before its body', creatingHead('Content-Length: 50')],
      ['in the middle of its body', `${creatingHead('Content-Length: 50')}{"id":`],
      ['in the middle of a chunk', `${creatingHead(CHUNKED)}5\r\n{"i`],
      ['instead of sending a body', creatingHead('Content-Length: 50', EXPECT_CONTINUE)],
      ['before its answer', creating(newPlant())],
      ['before its answers', creating(newPlant()).repeat(10)],
      ['behind a body that nobody wants', head('POST /plants HTTP/1.1', HOST, 'Content-Length: 5')],
      ['behind rubbish', 'How do you do?\r\n\r\n'],
      ['behind CONNECT', head('CONNECT plants.example:443 HTTP/1.1', HOST)],
    ])('%s is not a failure of the service', async (_, bytes) => {
      const logged = service.log.length;
      crashes.length = 0;
      for (const read of [0, bytes.length]) {
        const socket = await open();
        const peer = await vi.waitUntil(() => socket.peer, { interval: 5, timeout: PATIENCE });
        socket.send(bytes);
        await vi.waitUntil(() => peer.bytesRead >= read, { interval: 5, timeout: PATIENCE });
        socket[leave]();
        await untilDestroyed(peer, OPEN_AT_MOST);
      }
      expect(crashes).toEqual([]);
      expect(service.log.slice(logged).filter(({ level }) => Number(level) > 30)).toEqual([]);
      expect(await metrics()).not.toMatch(/http_response_status_code="5/);
    });
  });

  it('counts as abandoned in log and metrics', async () => {
    const socket = await sending(creatingHead('Content-Length: 50', 'X-Request-Id: leaving'));
    await vi.waitUntil(() => socket.peer?.bytesRead, { interval: 5, timeout: PATIENCE });
    socket.reset();
    const line = await vi.waitUntil(
      () => service.log.find((one) => one['requestId'] === 'leaving'),
      PATIENCE,
    );
    expect(line).not.toHaveProperty('status');
    expect(line).toMatchObject({ client: '127.0.0.1', msg: 'request abandoned by the client' });
    expect(await metrics()).toMatch(/http_response_status_code="",.*error_type="client_gone"/);
  });

  it.each([
    ['a malformed chunk', creatingHead(CHUNKED), 'zz\r\n', 400],
    ['a chunk extension that is too long', creatingHead(CHUNKED), `5;${'a'.repeat(20_000)}`, 413],
    ['half a body', creatingHead('Content-Length: 50'), '{"id":', 400],
    ['a malformed chunk that nobody reads', getting('/plants/0', CHUNKED), 'zz\r\n', 404],
  ])('does not count as abandoned after %s', async (what, start, rest, status) => {
    for (const inTwo of [false, true]) {
      const before = await abandoned();
      const socket = await open();
      const id = `${what} in ${inTwo ? 'two' : 'one'}`.replaceAll(' ', '-');
      socket.send(start.replace(HOST, `${HOST}\r\nX-Request-Id: ${id}`));
      if (inTwo)
        await vi.waitUntil(() => socket.peer?.bytesRead, { interval: 5, timeout: PATIENCE });
      socket.send(rest);
      if (what === 'half a body') socket.sendEnd();
      const answer = await socket.answer();
      expect(answer).toMatchObject({
        status,
        headers: { 'x-request-id': id, connection: 'close' },
      });
      await expectEnd(socket, OPEN_AT_MOST);
      const lines = () => service.log.filter(({ requestId }) => requestId === id);
      await vi.waitUntil(() => lines().length > 0, PATIENCE);
      expect(lines()).toMatchObject([{ msg: 'request', status, client: '127.0.0.1' }]);
      expect(await abandoned()).toBe(before);
    }
  });

  async function abandoned(): Promise<string | undefined> {
    return /^plant_store_requests_total\{outcome="abandoned"\} (\d+)$/m.exec(await metrics())?.[1];
  }

  async function metrics(): Promise<string> {
    return (await fetch(`${service.managementUrl}/metrics`)).text();
  }
});

describe('a client that half-closes its connection', () => {
  it('still gets every answer', async () => {
    const socket = await open();
    const plant = newPlant();
    socket.send(creating(plant) + creating(plant) + head('GET /plants/1 HTTP/1.1', HOST));
    socket.sendEnd();
    await expectAnswers(socket, 200, 200);
    expectError(await socket.answer(), 40100);
    await expectEnd(socket);
  });

  it.each([
    ['without a body', () => getting('/plants/0'), 404],
    ['with a body', () => creating(newPlant()), 200],
    ['with a chunked body', () => creatingHead(CHUNKED) + chunk(newPlant()) + LAST_CHUNK, 200],
    ['in HTTP/1.0', () => creating(newPlant()).replace('HTTP/1.1', 'HTTP/1.0'), 200],
    ['without a token', () => head('POST /plants HTTP/1.1', HOST), 401],
    ['in the middle of a header', () => creatingHead().slice(0, -9), 400],
    ['in the middle of a body', () => `${creatingHead('Content-Length: 50')}{"id":`, 400],
  ])('%s still gets its answer', async (_, bytes, status) => {
    const socket = await sending(bytes());
    socket.sendEnd();
    expect(await socket.answer()).toMatchObject({ status });
    await expectEnd(socket);
  });

  it('and sent nothing is disconnected', async () => {
    const socket = await open();
    socket.sendEnd();
    await expectEnd(socket);
  });
});

describe('X-Request-Id', () => {
  it.each([
    ['a UUID', '0b7d1a52-5c3e-4f0a-9d4e-8a5e6f7a8b9c'],
    ['a ULID with other characters', '01J-abc.DEF:1+2/3=4@5'],
    ['a trace id', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['base64', 'cGxhbnQ/c3RvcmU+==/+=='],
    ['one character', 'x'],
    ['128 characters', 'x'.repeat(128)],
  ])('is repeated in the answer and in the log when it is %s', async (_, id) => {
    const answer = await answerTo(getting('/plants/0', `X-Request-Id: ${id}`));
    expect(answer.headers['x-request-id']).toBe(id);
    expect(service.log).toContainEqual(expect.objectContaining({ requestId: id, status: 404 }));
  });

  it.each([
    ['it is too long', ['x'.repeat(129)]],
    ['it has a space', ['a b']],
    ['it has a tab', ['a\tb']],
    ['it has quotes', ['"a"']],
    ['it has markup', ['<b>']],
    ['it has other letters', ['\u00e9']],
    ['it is empty', ['']],
    ['there are two', ['a', 'b']],
    ['there is none', []],
  ])('is made by the service when %s', async (_, ids) => {
    const request = getting('/plants/0', ...ids.map((id) => `X-Request-Id: ${id}`));
    const answers = await Promise.all([1, 2, 3].map(() => answerTo(request)));
    const made = answers.map(({ headers }) => headers['x-request-id']);
    for (const id of made) expect(id).toMatch(UUID);
    expect(new Set(made).size).toBe(3);
  });
});
