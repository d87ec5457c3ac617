import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import { ERRORS, PlantStore, PlantStoreError } from '../../dist-client/dist/plant-store.js';
import type { PlantStoreOptions } from '../../dist-client/dist/plant-store.js';
import { FrontServer, refuse } from './front-server.js';
import type { Reply } from './front-server.js';
import { failureOf } from './plants.js';

const drop: Reply = (response) => response.destroy();
const silence: Reply = () => {};
const send =
  (status: number, body = '', headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, headers).end(body);
const cut: Reply = (response) => {
  response.writeHead(200, { 'Content-Length': '100' });
  response.write('{"name":', () => response.destroy());
};
const stored = send(200, '{"id":7,"name":"Aloe"}');

/** A server with one reply for each request, and then always the last one. */
class Script implements AsyncDisposable {
  readonly requests: string[] = [];
  readonly tokens: (string | undefined)[] = [];
  private server!: FrontServer;

  private constructor(private readonly replies: readonly Reply[]) {}

  static async of(...replies: readonly Reply[]): Promise<Script> {
    const script = new Script(replies);
    script.server = await FrontServer.start((request, response) => {
      void (async () => {
        const body = await text(request);
        script.requests.push(`${request.method} ${request.url} ${body}`.trim());
        script.tokens.push(request.headers.authorization);
        const reply = replies[script.requests.length - 1] ?? replies.at(-1);
        reply?.(response);
      })();
    });
    return script;
  }

  store(options: Partial<PlantStoreOptions> = {}): PlantStore {
    return this.server.store(options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

describe('a request is repeated', () => {
  it.each([
    ['a 408', send(408)],
    ['a 429', refuse(ERRORS.tooManySearches)],
    ['a rate limit', refuse(ERRORS.rateLimited)],
    ['a 502', send(502, '<html>Bad Gateway</html>')],
    ['a 503', refuse(ERRORS.overloaded)],
    ['a 504', send(504)],
    ['a connection that broke', drop],
    ['an answer that broke off', cut],
    ['no answer in time', silence],
  ])('after %s, with the same body', async (_failure, reply) => {
    await using script = await Script.of(reply, send(200, '{"name":"Aloe"}'));
    const store = script.store({ timeout: 2_000 });
    expect(await store.create({ id: 2n ** 63n - 1n, name: 'Aloe' })).toEqual({ name: 'Aloe' });
    const request = 'POST /plants {"id":9223372036854775807,"name":"Aloe"}';
    expect(script.requests).toEqual([request, request]);
  });

  it('four times, then it fails as the last attempt did', async () => {
    await using script = await Script.of(send(502), drop, send(504), drop, send(503));
    expect(await failureOf(script.store().get(7n))).toMatchObject({ status: 503 });
    expect(script.requests).toHaveLength(5);
  });

  it('with a new token', async () => {
    await using script = await Script.of(drop, stored);
    let calls = 0;
    await script.store({ token: () => `token-${++calls}` }).get(7n);
    expect(script.tokens).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('no sooner than Retry-After asks, in %s', async (_form, header) => {
    await using script = await Script.of(
      (response) => response.writeHead(503, { 'Retry-After': header() }).end(),
      stored,
    );
    const start = performance.now();
    await script.store().get(7n);
    expect(performance.now() - start).toBeGreaterThan(990);
    expect(script.requests).toHaveLength(2);
  });
});

describe('a request is not repeated', () => {
  it.each([
    ERRORS.bodyNotValid,
    ERRORS.idTaken,
    ERRORS.tokenNotValid,
    ERRORS.noSuchPlant,
    ERRORS.preconditionFailed,
    ERRORS.bodyTooLarge,
    ERRORS.internal,
  ])('after %d', async (code) => {
    await using script = await Script.of(refuse(code));
    expect(await failureOf(script.store().get(7n))).toMatchObject({ code });
    expect(script.requests).toHaveLength(1);
  });

  it('when the answer asks for too long a wait', async () => {
    await using script = await Script.of(send(429, '', { 'Retry-After': '61' }));
    expect(await failureOf(script.store().get(7n))).toMatchObject({ status: 429, retryAfter: 61 });
    expect(script.requests).toHaveLength(1);
  });

  it('with retries: 0', async () => {
    await using script = await Script.of(drop);
    expect(await failureOf(script.store({ retries: 0 }).get(7n))).toBeInstanceOf(TypeError);
    expect(script.requests).toHaveLength(1);
  });

  it('when the token is missing', async () => {
    await using script = await Script.of(stored);
    let calls = 0;
    const token = () => {
      calls += 1;
      throw new TypeError('no token');
    };
    await expect(script.store({ token }).get(7n)).rejects.toThrow('no token');
    await expect(script.store({ token: () => '' }).get(7n)).rejects.toThrow('token must be');
    expect(calls).toBe(1);
    expect(script.requests).toEqual([]);
  });
});

describe('a timeout', () => {
  it('ends each attempt', async () => {
    await using script = await Script.of(silence);
    const failure = await failureOf(script.store({ timeout: 1_000, retries: 1 }).get(7n));
    expect(failure).toMatchObject({
      name: 'TimeoutError',
      message: expect.stringMatching(/^waited 1000 ms for http:\/\/.*\/plants\/7$/) as string,
    });
    expect(script.requests).toHaveLength(2);
  });

  it('includes the body of the answer', async () => {
    await using script = await Script.of((response) => {
      response.writeHead(200).write('{"id":7,');
    }, stored);
    expect(await script.store({ timeout: 2_000 }).get(7n)).toMatchObject({ id: 7n });
  });

  it('ends the wait for a fetch that heeds no signal', async () => {
    await using script = await Script.of(stored);
    const deaf = () => new Promise<Response>(() => {});
    const store = script.store({ timeout: 100, retries: 0, fetch: deaf });
    expect(await failureOf(store.get(7n))).toMatchObject({ name: 'TimeoutError' });
  });
});

describe('the signal', () => {
  it.each([new DOMException('stop', 'AbortError'), new TypeError('stop')])(
    'ends a pause at once: %s',
    async (reason) => {
      const controller = new AbortController();
      await using script = await Script.of((response) => {
        response.once('close', () => setImmediate(() => controller.abort(reason)));
        response.writeHead(503, { 'Retry-After': '60' }).end();
      });
      const { signal } = controller;
      expect(await failureOf(script.store().get(7n, { signal }))).toBe(reason);
      expect(script.requests).toHaveLength(1);
    },
    10_000,
  );

  it.each([new DOMException('late', 'TimeoutError'), new TypeError('stop')])(
    'ends a request, which is not repeated: %s',
    async (reason) => {
      const controller = new AbortController();
      await using script = await Script.of(() => controller.abort(reason));
      const { signal } = controller;
      expect(await failureOf(script.store().get(7n, { signal }))).toBe(reason);
      expect(script.requests).toHaveLength(1);
    },
  );
});

describe('a repeated remove', () => {
  it.each<[string, Reply]>([
    ['a connection that broke', drop],
    ['a 502', send(502)],
    ['a 503 of a proxy', send(503)],
    ['a 504', send(504)],
    ['a lost connection to the database', refuse(ERRORS.databaseUnavailable)],
  ])('that finds nothing after %s has succeeded', async (_failure, reply) => {
    await using script = await Script.of(reply, refuse(ERRORS.noSuchPlant));
    await script.store().remove(7n);
    await using conditional = await Script.of(reply, refuse(ERRORS.noSuchPlant));
    await conditional.store().remove(7n, { ifMatch: '"tag"' });
    expect(conditional.requests).toHaveLength(2);
  });

  it.each<[string, Reply, Reply]>([
    ['a plant, after a 429', refuse(ERRORS.tooManySearches), refuse(ERRORS.noSuchPlant)],
    ['a plant, after a refusal', refuse(ERRORS.overloaded), refuse(ERRORS.noSuchPlant)],
    ['a path', drop, refuse(ERRORS.noSuchPath)],
    ['a service', drop, send(404, '<html>Not Found</html>')],
  ])('that finds no such thing as %s fails', async (_what, first, second) => {
    await using script = await Script.of(first, second);
    expect(await failureOf(script.store().remove(7n))).toMatchObject({ status: 404 });
  });
});

describe('a change with ifMatch', () => {
  const ifMatch = '"tag"';
  const changes: [string, (store: PlantStore) => Promise<unknown>][] = [
    ['replace', (store) => store.replace(7n, { name: 'Aloe' }, { ifMatch })],
    ['patch', (store) => store.patch(7n, { name: 'Aloe' }, { ifMatch })],
  ];

  it.each(changes)('is repeated after a refusal: %s', async (_name, change) => {
    await using script = await Script.of(refuse(ERRORS.overloaded), stored);
    expect(await change(script.store())).toMatchObject({ id: 7n, name: 'Aloe' });
  });

  it.each(changes)('is not repeated if it may have been made: %s', async (_name, change) => {
    await using script = await Script.of(drop);
    expect(await failureOf(change(script.store()))).toBeInstanceOf(TypeError);
    await using lost = await Script.of(refuse(ERRORS.databaseUnavailable));
    expect(await failureOf(change(lost.store()))).toBeInstanceOf(PlantStoreError);
    expect([script.requests.length, lost.requests.length]).toEqual([1, 1]);
  });
});

it('a plant is created and removed once when each first answer is lost', async () => {
  const service = await startTestService();
  const lost = new Set<string>();
  await using proxy = await FrontServer.start((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request;
      const body = await text(request);
      const answer = await fetch(service.url + url, {
        method,
        headers: {
          Authorization: headers.authorization ?? '',
          ...(body !== '' && { 'Content-Type': headers['content-type'] ?? '' }),
        },
        ...(body !== '' && { body }),
      });
      const answered = await answer.text();
      if (lost.has(method)) response.writeHead(answer.status).end(answered);
      else response.destroy();
      lost.add(method);
    })();
  });
  try {
    const store = new PlantStore({ url: proxy.url, token: TOKEN });
    const count = () => service.database.query('SELECT id, name FROM plants');
    expect(await store.create({ id: 7n, name: 'Aloe' })).toEqual({ name: 'Aloe' });
    expect(await count()).toEqual([{ id: '7', name: 'Aloe' }]);
    await store.remove(7n);
    expect(await count()).toEqual([]);
    expect(await failureOf(store.remove(7n))).toMatchObject({ code: ERRORS.noSuchPlant });
  } finally {
    await service.stop();
  }
});
