import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import fc from 'fast-check';
import { expect } from 'vitest';
import { Crowd, TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { isServed } from '../support/reckoning.js';

/** A million takes some twenty minutes: `MALFORMED_REQUESTS=1000000 npm run test:faults -- malformed`. */
const COUNT = Number(process.env['MALFORMED_REQUESTS'] ?? 20_000);

/** Requests that are generated at once. */
const PORTION = 1_000;

/** Connections at a time. */
const CONNECTIONS = 32;

/** Longer than the service waits for anything of a client that has nothing more to say, in milliseconds. */
const DEADLINE = 20_000;

/** Tolerated growth of memory, in bytes. */
const TOLERANCE = 16 * 2 ** 20;

type Edit = (request: Buffer) => Buffer;

/** Bytes that mean something to somebody who reads HTTP or JSON. */
const TRICKS = [
  '\r\n',
  '\n',
  '\r\n\r\n',
  '\0',
  '\ufeff',
  ' ',
  ':',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '{"id":1,"name":"x"}',
  '[[[[[[[[[[[[[[[[',
  '1e999',
  '\\ud800',
  '"__proto__":{},',
  'Content-Length: 5\r\n',
  'Content-Length: -1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Content-Encoding: br\r\n',
  'Expect: 100-continue\r\n',
  'Connection: upgrade\r\nUpgrade: websocket\r\n',
  'Host: a\r\n',
  'Authorization: Bearer x\r\n',
  'Content-Type: text/plain\r\n',
  'HTTP/2.0',
  '/../%00%ff',
  'CONNECT a:1 HTTP/1.1\r\n\r\n',
];

// Anywhere: values at the edges are fast-check's favourites.
const place = fc.noBias(fc.nat(999)).map((thousandths) => thousandths / 1_000);
const bytes = fc.uint8Array({ minLength: 1, maxLength: 12 });

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(place, bytes).map(([at, put]) => splice(at, 0, put)),
  fc.tuple(place, bytes).map(([at, put]) => splice(at, put.length, put)),
  fc
    .tuple(place, fc.constantFrom(...TRICKS))
    .map(([at, trick]) => splice(at, 0, Buffer.from(trick))),
  fc.tuple(place, fc.nat(40)).map(([at, length]) => splice(at, length, Buffer.alloc(0))),
  fc.tuple(place, fc.nat(60)).map(([at, length]): Edit => (request) => {
    const start = Math.floor(at * request.length);
    return splice(at, 0, request.subarray(start, start + length))(request);
  }),
  place.map(
    (at): Edit =>
      (request) =>
        request.subarray(0, Math.ceil(at * request.length)),
  ),
);

function splice(at: number, length: number, put: Uint8Array): Edit {
  return (request) => {
    const start = Math.floor(at * request.length);
    return Buffer.concat([request.subarray(0, start), put, request.subarray(start + length)]);
  };
}

/** Requests in order, with a few changes that nobody has thought about. */
function mutated(token: string): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...realRequests(token)), fc.array(edit, { minLength: 1, maxLength: 4 }))
    .map(([request, edits]) => edits.reduce((done, change) => change(done), request));
}

/** Well-formed requests whose body has odd content. */
function withOddBody(token: string): fc.Arbitrary<Buffer> {
  const plant = fc.record(
    { id: fc.jsonValue(), name: fc.jsonValue(), tag: fc.jsonValue() },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    plant.map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ maxLength: 60 }).map((content) => Buffer.from(content)),
  );
  return body.map((content) =>
    Buffer.concat([
      Buffer.from(head('POST /plants', token, JSON_TYPE, `Content-Length: ${content.length}`)),
      content,
    ]),
  );
}

/** So many requests of which nearly all are malformed; the same ones for the same seed. */
function malformedRequests(token: string, count: number, seed: number): Buffer[] {
  const requests = fc.oneof({ arbitrary: mutated(token), weight: 3 }, withOddBody(token));
  return fc.sample(requests, { numRuns: count, seed });
}

const JSON_TYPE = 'Content-Type: application/json';

function realRequests(token: string): Buffer[] {
  const plant = '{"id":9007199254740993,"name":"Nº \u{1F33F}","tag":"a\\nb"}';
  const length = `Content-Length: ${Buffer.byteLength(plant)}`;
  return [
    head('POST /plants', token, JSON_TYPE, length) + plant,
    head('POST /plants', token, JSON_TYPE, length, 'Expect: 100-continue') + plant,
    `${head('POST /plants', token, JSON_TYPE, 'Transfer-Encoding: chunked')}9\r\n{"id":1,"\r\na;x=y\r\nname":"a"}\r\n0\r\nTrailer: x\r\n\r\n`,
    head('GET /plants/9007199254740993', token),
    head('OPTIONS /plants', token),
    head('PUT /plants', token),
    head('HEAD /openapi.json', token),
    head('GET /plants/1', token) + head('POST /plants', token, JSON_TYPE, length) + plant,
  ].map((request) => Buffer.from(request));
}

function head(line: string, token: string, ...fields: readonly string[]): string {
  return [
    `${line} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    ...fields,
    '',
    '',
  ].join('\r\n');
}

it(
  `answers ${COUNT} malformed requests as such, and is as it was`,
  async ({ replica }) => {
    const seed = randomInt(2 ** 31);
    const seen = new Map<number, number>();
    const memory: number[] = [];
    const failures: string[] = [];
    for (let sent = 0; sent < COUNT; sent += PORTION) {
      const requests = malformedRequests(TOKEN, PORTION, seed + sent);
      // A shared queue of all workers.
      const queue = requests.entries();
      const sending = Array.from({ length: CONNECTIONS }, async () => {
        for (const [i, request] of queue) {
          if (i % 10 === 0) leave(replica.port, request);
          const statuses = await statusesFor(replica.port, request);
          const faults = statuses.filter((status) => status >= 500);
          // For the reproduction of the failure.
          if (faults.length > 0) failures.push(`${faults.join()}: ${request.toString('base64')}`);
          for (const status of statuses) seen.set(status, (seen.get(status) ?? 0) + 1);
        }
      });
      await Promise.all(sending);
      const metrics = await replica.metrics();
      memory.push(Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]));
    }

    expect(failures).toEqual([]);
    expect(replica.service.running).toBe(true);
    expect(replica.service.stderr).toBe('');
    // The requests were malformed in many ways, and some were valid.
    expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 404, 405, 415]));
    // The first half warms up.
    const [, , before, after] = quarters(memory).map((quarter) => Math.min(...quarter));
    expect(after! - before!).toBeLessThan(TOLERANCE);
    const crowd = new Crowd({ urls: [replica.url] });
    await crowd.served(300);
    expect((await crowd.stop()).every(isServed)).toBe(true);
  },
  // Much longer than it takes.
  60_000 + COUNT * 5,
);

function quarters(values: readonly number[]): number[][] {
  const size = Math.ceil(values.length / 4);
  return [0, 1, 2, 3].map((i) => values.slice(i * size, (i + 1) * size));
}

/** Disconnects after sending, like a scanner. */
function leave(port: number, request: Uint8Array): void {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  socket.write(request, () => socket.resetAndDestroy());
}

/**
 * Sends bytes on a connection of their own, and says that there will be no more.
 *
 * @returns the statuses of the answers; fails when the service does not end the connection in time
 */
async function statusesFor(port: number, request: Uint8Array): Promise<number[]> {
  const socket = await RawSocket.open(port);
  socket.send(request);
  socket.sendEnd();
  await socket.end(DEADLINE);
  socket.destroy();
  return [...socket.rest.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
}
