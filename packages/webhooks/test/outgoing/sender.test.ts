import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { Sender } from '../../src/outgoing/sender.js';
import { reasonOf } from '../../src/outgoing/outcome.js';
import { breakReused, message, SECRET, startRawReceiver, startReceiver } from './receiver.js';

const TIMEOUT = 15_000;
const sender = new Sender({ allowedNetworks: '', allowsHttpOnLoopback: true, timeout: TIMEOUT });

const OTHER_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const { signal } = new AbortController();
const send = (url: string, sent = message()) => sender.send(url, sent, [SECRET], signal);

afterAll(() => sender.close());

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Time passes only where a test says so. */
const stopTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

describe('a message', () => {
  it('is verified by the library of Standard Webhooks, with each of its secrets', async () => {
    const receiver = await startReceiver();
    const sent = message('{"type":"tool.created","data":{"name":"Se\u0301ne\u00e7on \u{1F335}"}}');
    const outcome = await sender.send(receiver.url, sent, [SECRET, OTHER_SECRET], signal);
    expect(outcome).toEqual({ kind: 'delivered', status: 204 });
    const [{ headers, body } = expect.fail()] = receiver.requests;
    expect(body).toBe(sent.body);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(sent.timestamp.getTime() / 1000)),
    });
    for (const secret of [SECRET, OTHER_SECRET]) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    }
    const stranger = new Webhook(Buffer.alloc(32, 1).toString('base64'));
    expect(() => stranger.verify(body, headers)).toThrow('No matching signature');
  });

  it('is sent through an open connection', async () => {
    const receiver = await startReceiver();
    let connections = 0;
    receiver.server.on('connection', () => (connections += 1));
    // Node.js warns of listeners that pile up.
    const warn = vi.spyOn(process, 'emitWarning');
    for (let n = 0; n < 20; n += 1) expect(await send(receiver.url)).toMatchObject(DELIVERED);
    expect(connections).toBe(1);
    expect(warn).not.toHaveBeenCalled();
  });

  it('is sent again if the receiver has closed the open connection meanwhile', async () => {
    const receiver = await startReceiver(breakReused());
    expect(await send(receiver.url)).toMatchObject(DELIVERED);
    expect(await send(receiver.url)).toMatchObject(DELIVERED);
    expect(receiver.requests).toHaveLength(3);
  });

  it.each([
    [
      'is no HTTP',
      'SSH-2.0-OpenSSH_9.2\r\n',
      'The response is not valid HTTP (HPE_INVALID_CONSTANT).',
    ],
    ['breaks off', 'HTTP/1.1 200 OK\r\nx: ', 'The connection was closed before a response.'],
  ])('is not sent again after a response that %s', async (_, text, reason) => {
    const { url, requests } = await startReceiver(breakReused((socket) => socket.end(text)));
    expect(await send(url)).toMatchObject(DELIVERED);
    expect(await send(url)).toEqual({ kind: 'failed', reason });
    expect(requests).toHaveLength(2);
  });
});

const DELIVERED = { kind: 'delivered' };

describe('a response', () => {
  const respond = async (answer: (response: ServerResponse) => unknown) => {
    const receiver = await startReceiver(answer);
    return { ...receiver, outcome: await send(receiver.url) };
  };

  it.each([200, 201, 202, 204, 299])('of %i is a delivery', async (status) => {
    const { outcome } = await respond((response) => response.writeHead(status).end());
    expect(outcome).toEqual({ kind: 'delivered', status });
  });

  it('of 410 ends the interest', async () => {
    const { outcome } = await respond((response) => response.writeHead(410).end('not here'));
    expect(outcome).toEqual({ kind: 'gone', response: 'not here' });
  });

  it.each([400, 401, 404, 429, 500, 503])('of %i is a failure', async (status) => {
    const { outcome } = await respond((response) => response.writeHead(status).end('no'));
    const reason = `The response has the status ${status}.`;
    expect(outcome).toEqual({ kind: 'failed', status, reason, response: 'no' });
  });

  it.each([301, 302, 303, 307, 308])('of %i is not followed', async (status) => {
    const elsewhere = await startReceiver();
    const { outcome } = await respond((response) =>
      response.writeHead(status, { Location: elsewhere.url }).end(),
    );
    const reason = `The response is a redirect (${status}), and redirects are not followed.`;
    expect(outcome).toEqual({ kind: 'failed', status, reason });
    expect(elsewhere.requests).toEqual([]);
  });

  const inTime = (milliseconds: number) => new Date(Date.now() + milliseconds).toUTCString();

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['86400', 3_600_000],
    [inTime(-60_000), 0],
    [inTime(86_400_000), 3_600_000],
    ['-1', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['Wed, 42 Foo 2026 GMT', undefined],
  ])('asks for a delay with Retry-After: %s', async (value, retryAfter) => {
    const { outcome } = await respond((response) =>
      response.writeHead(503, { 'Retry-After': value }).end(),
    );
    const reason = 'The response has the status 503.';
    const delay = retryAfter === undefined ? {} : { retryAfter };
    expect(outcome).toEqual({ kind: 'failed', status: 503, reason, ...delay });
  });

  it('asks for a delay until a time', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 28, 12) });
    const { outcome } = await respond((response) =>
      response.writeHead(429, { 'Retry-After': 'Sat, 28 Nov 2026 12:01:30 GMT' }).end(),
    );
    expect(outcome).toMatchObject({ status: 429, retryAfter: 90_000 });
  });

  it('is kept with the beginning of any body, as text that PostgreSQL can store', async () => {
    let body = Buffer.alloc(0);
    const { url } = await startReceiver((response) => response.end(body));
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 1_500, size: 'max' }).map((bytes) => Buffer.from(bytes)),
      fc
        .string({ unit: 'binary', maxLength: 800, size: 'max' })
        .map((text) => Buffer.from(text.toWellFormed())),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (bytes) => {
        body = bytes;
        const { response = '' } = await send(url);
        const begin = new TextDecoder().decode(bytes.subarray(0, 1024), { stream: true });
        expect(response).toBe(begin.replaceAll('\0', '\uFFFD'));
        expect(response.isWellFormed()).toBe(true);
      }),
      { examples: [[Buffer.from(`${'a'.repeat(1023)}\u{1F335}`)], [Buffer.from('a\0b')]] },
    );
  });

  it('with an endless body is cut off', async () => {
    let ended: Promise<unknown> = Promise.resolve();
    const { outcome } = await respond((response) => {
      ended = once(response, 'close');
      const write = () => {
        while (!response.destroyed && response.write('endless '));
      };
      response.on('drain', write);
      write();
    });
    expect(outcome).toEqual({ kind: 'delivered', status: 200, response: 'endless '.repeat(128) });
    await ended;
  });

  it.each([
    ['hangs', () => undefined],
    ['breaks', (response: ServerResponse) => response.socket?.destroy()],
  ])('counts although its body %s', async (_, afterwards) => {
    stopTime();
    const CHANNEL = 'http.client.response.finish';
    const received = new Promise((resolve) => {
      const listener = () => {
        unsubscribe(CHANNEL, listener);
        resolve(undefined);
      };
      subscribe(CHANNEL, listener);
    });
    const { url } = await startReceiver(async (response) => {
      response.writeHead(200).write('begin');
      await received;
      afterwards(response);
    });
    const outcome = send(url);
    await received;
    await turn();
    vi.advanceTimersByTime(TIMEOUT);
    expect(await outcome).toMatchObject({ kind: 'delivered', status: 200 });
  });
});

describe('a receiver', () => {
  const failed = (reason: string) => ({ kind: 'failed', reason });

  it('that does not respond has a timeout', async () => {
    stopTime();
    const { url } = await startReceiver(() => vi.advanceTimersByTime(TIMEOUT));
    expect(await send(url)).toEqual(failed('No response within 15 s.'));
  });

  it('has a timeout for the whole, however often it sends a byte', async () => {
    stopTime();
    const { url } = await startRawReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      let count = 0;
      const timer = setInterval(() => {
        socket.write('x');
        if ((count += 1) === 10) vi.advanceTimersByTime(TIMEOUT);
      }, 1);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await send(url)).toEqual(failed('No response within 15 s.'));
  });

  it.each([
    [
      'sends a large header',
      `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`,
      'The header of the response is too large.',
    ],
    [
      'speaks another protocol',
      'SSH-2.0-OpenSSH_9.2\r\n',
      'The response is not valid HTTP (HPE_INVALID_CONSTANT).',
    ],
    [
      'wants another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      'The connection was closed before a response.',
    ],
    [
      'sends too many interim responses',
      'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000),
      'There are too many interim responses.',
    ],
    ['says nothing', '', 'The connection was closed before a response.'],
  ])('that %s fails', async (_, text, reason) => {
    const { url } = await startRawReceiver((socket) => {
      socket.once('data', () => socket.end(text));
    });
    expect(await send(url)).toEqual(failed(reason));
  });

  it('that sends some interim responses before the last one is not at fault', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10);
    const { url } = await startRawReceiver((socket) => {
      socket.once('data', () => socket.end(`${interim}HTTP/1.1 204 No Content\r\n\r\n`));
    });
    expect(await send(url)).toEqual({ kind: 'delivered', status: 204 });
  });

  it('that is not there is told from others', async () => {
    const { url, server } = await startReceiver();
    server.close();
    expect(await send(url)).toEqual(failed('The connection was refused.'));
  });

  it('that cannot be reached does not tell its address', () => {
    const error = Object.assign(new Error('connect EHOSTUNREACH 10.0.0.1'), {
      code: 'EHOSTUNREACH',
    });
    expect(reasonOf(error, 'connection')).toBe('The connection failed (EHOSTUNREACH).');
  });

  it('on this machine is found by its name, without DNS', async () => {
    const { port } = await startReceiver();
    expect(await send(`http://localhost:${port}/`)).toMatchObject(DELIVERED);
  });
});

describe('the signal', () => {
  it('prevents a delivery', async () => {
    const { url, requests } = await startReceiver();
    const aborted = AbortSignal.abort(new Error('shutting down'));
    await expect(sender.send(url, message(), [SECRET], aborted)).rejects.toThrow('shutting down');
    expect(requests).toEqual([]);
  });

  it('ends a delivery, and closes its connection', async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const { url } = await startReceiver((response) => {
      closed = once(response, 'close');
      controller.abort(new Error('shutting down'));
    });
    const outcome = sender.send(url, message(), [SECRET], controller.signal);
    await expect(outcome).rejects.toThrow('shutting down');
    await closed;
  });

  /** Sends a message that is stopped before it is written for this time. */
  function sendUntil(time: number, url: string) {
    const controller = new AbortController();
    let times = 0;
    return sender.send(url, message(), [SECRET], controller.signal, () => {
      times += 1;
      if (times === time) controller.abort(new Error('no lease'));
    });
  }

  it('prevents a message when its connection is made, or was open', async () => {
    const { url, server, requests } = await startReceiver();
    let connections = 0;
    server.on('connection', () => (connections += 1));
    await expect(sendUntil(1, url)).rejects.toThrow('no lease');
    await vi.waitFor(() => expect(connections).toBe(1));
    expect(await send(url)).toMatchObject(DELIVERED);
    await expect(sendUntil(1, url)).rejects.toThrow('no lease');
    expect(await send(url)).toMatchObject(DELIVERED);
    expect([connections, requests.length]).toEqual([3, 2]);
  });

  it('prevents that a message is sent again', async () => {
    const { url, requests } = await startReceiver(breakReused());
    expect(await send(url)).toMatchObject(DELIVERED);
    await expect(sendUntil(2, url)).rejects.toThrow('no lease');
    expect(requests).toHaveLength(2);
  });
});

describe('the connections', () => {
  const startHangingReceiver = async () => {
    const waiting: ServerResponse[] = [];
    const receiver = await startReceiver((response) => waiting.push(response));
    const respond = () => {
      for (const response of waiting.splice(0)) response.writeHead(204).end();
    };
    return { ...receiver, waiting, respond };
  };
  const patient = () =>
    new Sender({ allowedNetworks: '', allowsHttpOnLoopback: true, timeout: 2 ** 30 });
  const PATIENCE = { timeout: 120_000, interval: 50 };

  it('are at the most 1,000, of which 100 stay open', async () => {
    const own = patient();
    const { url, server, waiting, respond } = await startHangingReceiver();
    const outcomes = Array.from({ length: 1_010 }, () =>
      own.send(url, message(), [SECRET], signal),
    );
    await vi.waitFor(() => expect(waiting).toHaveLength(1_000), PATIENCE);
    respond();
    await vi.waitFor(() => expect(waiting).toHaveLength(10), PATIENCE);
    respond();
    await Promise.all(outcomes);
    const open = () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    await vi.waitFor(async () => expect(await open()).toBeLessThanOrEqual(100), PATIENCE);
    await own.close();
    await vi.waitFor(async () => expect(await open()).toBe(0), PATIENCE);
  });

  it('end with the sender', async () => {
    const own = patient();
    const { url, waiting } = await startHangingReceiver();
    const outcome = own.send(url, message(), [SECRET], signal);
    await vi.waitFor(() => expect(waiting).toHaveLength(1), PATIENCE);
    await own.close();
    const reason = 'The connection was closed before a response.';
    expect(await outcome).toEqual({ kind: 'failed', reason });
  });
});
