import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { FaultyLink } from '../support/faulty-link.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { PRUNE_ALL } from '../support/prune.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { ERRORS, PlantStore } from '../../dist-client/dist/plant-store.js';
import type { PlantChange } from '../../dist-client/dist/plant-store.js';
import { FrontServer, refuse } from './front-server.js';
import type { Reply } from './front-server.js';
import { all, failureOf } from './plants.js';

const POSITION = 9007199254740993n;

/** The text of an event. */
const eventAt = (position: bigint) =>
  `id: ${position}\ndata: {"position":${position},"id":-9223372036854775808,"kind":"removed"}\n\n`;

async function take<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) if (taken.push(item) === count) break;
  return taken;
}

const positionsOf = (changes: readonly PlantChange[]) => changes.map(({ position }) => position);

describe('the changes of a service', () => {
  let service: TestService;
  let store: PlantStore;

  beforeAll(async () => {
    service = await startTestService();
    store = new PlantStore({ url: service.url, token: TOKEN });
  });

  beforeEach(() => service.database.empty());

  afterAll(() => service.stop());

  it('are read page by page, with exact ids', async () => {
    const id = 2n ** 63n - 1n;
    await store.create({ id, name: 'Aloe' });
    await store.create({ id: 7n, name: 'Ficus' });
    await store.remove(id);
    const changes = await all(store.changes({ limit: 1 }));
    expect(changes).toMatchObject([
      { kind: 'created', id, plant: { id, name: 'Aloe' }, principal: { id: 'AUTH_TOKEN' } },
      { kind: 'created', id: 7n, plant: { id: 7n } },
      { kind: 'removed', id },
    ]);
    const [first, , last] = positionsOf(changes);
    expect(await store.latestPosition()).toBe(last);
    expect(await all(store.changes({ after: first!, plant: id }))).toEqual([changes[2]]);
  });

  it('are followed, those that are stored and those that come', async () => {
    await store.create({ id: 1n, name: 'a' });
    const after = await store.latestPosition();
    await store.create({ id: 2n, name: 'a' });
    const following = store.followChanges({ after });
    expect((await following.next()).value).toMatchObject({ kind: 'created', id: 2n });
    const next = following.next();
    await store.patch(1n, { tag: 'b' });
    expect((await next).value).toMatchObject({ kind: 'replaced', plant: { id: 1n, tag: 'b' } });
    await following.return();
    const [ofOnePlant] = await take(store.followChanges({ plant: 2n }), 1);
    expect(ofOnePlant).toMatchObject({ id: 2n });
  });

  it('arrive once, and none is missed, over connections that break after a few events', async () => {
    await store
      .import(Array.from({ length: 100 }, (_, id) => ({ id: BigInt(id), name: '🌵' })))
      .summary();
    const link = await FaultyLink.to(service.url);
    try {
      link.poison({ kind: 'limit_data', bytes: 12_000 });
      const weak = new PlantStore({ url: link.url, token: TOKEN });
      const found = await take(weak.followChanges(), 100);
      expect(found).toEqual(await all(store.changes()));
      expect(link.harmed).toBeGreaterThan(1);
    } finally {
      await link.close();
    }
  });

  it('arrive once, and none is missed, while a replica stops and another continues', async () => {
    const before = await startTestService({ database: service.database });
    const link = await FaultyLink.to(before.url);
    try {
      const following = new PlantStore({ url: link.url, token: TOKEN }).followChanges();
      const reading = take(following, 20);
      for (let id = 0n; id < 10n; id++) await store.create({ id, name: 'a' });
      const stopped = before.stop();
      for (let id = 10n; id < 20n; id++) await store.create({ id, name: 'a' });
      await stopped;
      link.leadTo(service.url);
      expect((await reading).map(({ id }) => id)).toEqual(
        Array.from({ length: 20 }, (_, id) => BigInt(id)),
      );
    } finally {
      await link.close();
    }
  });

  it('that are no longer kept end the iteration', async () => {
    await store.create({ id: 1n, name: 'a' });
    await service.database.query(PRUNE_ALL);
    await expect(store.followChanges({ after: 0n }).next()).rejects.toMatchObject({
      code: ERRORS.changesPruned,
    });
  });
});

describe('a follower', () => {
  /** What the server was asked: the query, and where to go on. */
  let requests: string[];
  let headers: IncomingHttpHeaders[];
  let responses: ServerResponse[];
  let times: number[];

  beforeEach(() => {
    requests = [];
    headers = [];
    responses = [];
    times = [];
  });

  afterEach(() => void vi.useRealTimers());

  /** A server with one reply for each request, and then always the last one. */
  const serve = (...replies: readonly Reply[]) =>
    FrontServer.start((request, response) => {
      const reply = replies[requests.length] ?? replies.at(-1);
      const at = request.headers['last-event-id'];
      requests.push(`${request.url}${at === undefined ? '' : ` ${at as string}`}`);
      headers.push(request.headers);
      responses.push(response);
      times.push(performance.now());
      reply?.(response);
    });

  const storeAt = (server: FrontServer) => server.store({ timeout: 5_000 });

  /** From each request to the next one, in milliseconds. */
  const pauses = () => times.slice(1).map((time, index) => time - (times[index] ?? 0));

  /** Begins a stream that stays open. */
  const events =
    (...texts: readonly string[]): Reply =>
    (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(': following\n\n');
      for (const text of texts) response.write(text);
    };
  const ended =
    (text: string): Reply =>
    (response) => {
      events(text)(response);
      response.end();
    };
  const broken =
    (text: string | Uint8Array): Reply =>
    (response) => {
      events()(response);
      response.write(text, () => response.destroy());
    };
  const [first, second] = [eventAt(POSITION), eventAt(POSITION + 1n)];

  it.each([
    ['that ends', ended(first)],
    ['that breaks', broken(first)],
    ['that breaks in an event', broken(first + second.slice(0, -1))],
    ['that breaks in a character', broken(Buffer.from(`${first}data: "é`).subarray(0, -1))],
  ])('continues after a stream %s, behind the last event', async (_failure, reply) => {
    await using server = await serve(reply, events(second));
    const changes = await take(storeAt(server).followChanges({ after: 5n, plant: 6n }), 2);
    expect(changes).toEqual([
      { position: POSITION, id: -(2n ** 63n), kind: 'removed' },
      { position: POSITION + 1n, id: -(2n ** 63n), kind: 'removed' },
    ]);
    const path = '/changes?after=5&plant=6';
    expect(requests).toEqual([path, `${path} ${POSITION}`]);
    expect(headers[0]).toMatchObject({ accept: 'text/event-stream' });
  });

  it.each([
    ['a 503', refuse(ERRORS.shuttingDown)],
    ['a 429', refuse(ERRORS.tooManyFollowers)],
    ['a 502 of a proxy', (response: ServerResponse) => void response.writeHead(502).end()],
    ['no answer', (response: ServerResponse) => void response.destroy()],
  ])('continues after %s', async (_failure, reply) => {
    await using server = await serve(reply, ended(first), reply, events(second));
    const changes = await take(storeAt(server).followChanges(), 2);
    expect(positionsOf(changes)).toEqual([POSITION, POSITION + 1n]);
    expect(requests.slice(2)).toEqual([`/changes ${POSITION}`, `/changes ${POSITION}`]);
  });

  it('waits as long as Retry-After says', async () => {
    const wait = refuse(ERRORS.tooManyFollowers, { 'Retry-After': '2' });
    await using server = await serve(wait, events(first));
    await take(storeAt(server).followChanges(), 1);
    expect(pauses()[0]).toBeGreaterThanOrEqual(1_990);
  });

  it('gives up an address that has never worked, and otherwise tries on', async () => {
    await using server = await serve(
      ended(first),
      ...Array.from({ length: 3 }, () => refuse(ERRORS.overloaded)),
      events(second),
    );
    expect(await take(server.store({ retries: 0 }).followChanges(), 2)).toHaveLength(2);
    await using down = await serve(refuse(ERRORS.overloaded));
    const hopeless = down.store({ retries: 0 });
    await expect(hopeless.followChanges().next()).rejects.toMatchObject({ status: 503 });
  });

  it.each([
    ERRORS.parameterNotValid,
    ERRORS.tokenExpired,
    ERRORS.scopeMissing,
    ERRORS.noSuchPath,
    ERRORS.changesPruned,
  ])('ends with the error %i, also when it comes back', async (code) => {
    await using server = await serve(ended(first), refuse(code));
    const following = storeAt(server).followChanges();
    expect((await following.next()).value).toMatchObject({ position: POSITION });
    await expect(following.next()).rejects.toMatchObject({ name: 'PlantStoreError', code });
    expect(requests).toHaveLength(2);
  });

  it('refuses an answer that is not a stream', async () => {
    await using server = await serve((response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('[]');
    });
    await expect(storeAt(server).followChanges().next()).rejects.toThrow(
      'the response is not a stream of events',
    );
  });

  it('passes on no event twice, and none of another type', async () => {
    const notice = `event: notice\n${eventAt(POSITION + 1n)}`;
    await using server = await serve(ended(first), events(first, notice, eventAt(POSITION + 2n)));
    const changes = await take(storeAt(server).followChanges(), 2);
    expect(positionsOf(changes)).toEqual([POSITION, POSITION + 2n]);
  });

  it('remembers a position that comes without a change', async () => {
    await using server = await serve(ended(`${first}id: ${POSITION + 5n}\n\n`), events());
    const following = storeAt(server).followChanges();
    await following.next();
    const next = following.next();
    await vi.waitFor(() => expect(requests).toHaveLength(2), PATIENCE);
    expect(requests[1]).toBe(`/changes ${POSITION + 5n}`);
    responses[1]?.write(eventAt(POSITION + 6n));
    expect((await next).value).toMatchObject({ position: POSITION + 6n });
    await following.return();
  });

  it('leaves a connection that is silent for 45 seconds, and continues', async () => {
    await using server = await serve(events(first), events(second));
    const following = storeAt(server).followChanges();
    await following.next();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const next = following.next();
    await vi.advanceTimersByTimeAsync(40_000);
    responses[0]?.write(':\n\n');
    await arrival();
    await vi.advanceTimersByTimeAsync(40_000);
    expect(requests).toHaveLength(1);
    const closed = once(responses[0]!, 'close');
    await vi.advanceTimersByTimeAsync(5_500);
    await closed;
    vi.useRealTimers();
    expect((await next).value).toMatchObject({ position: POSITION + 1n });
    expect(requests).toEqual(['/changes', `/changes ${POSITION}`]);
    await following.return();
  });

  it('waits longer each time that a stream ends without anything new', async () => {
    await using server = await serve(ended(''), ended(''), ended(first), events(second));
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
    try {
      await take(storeAt(server).followChanges(), 2);
    } finally {
      random.mockRestore();
    }
    const [one = 0, two = 0, three = 0] = pauses();
    expect(one).toBeGreaterThanOrEqual(490);
    expect(two).toBeGreaterThanOrEqual(990);
    expect(three).toBeLessThan(two);
  });

  it('closes the connection when the loop is left', async () => {
    await using server = await serve(events(first));
    await take(storeAt(server).followChanges(), 1);
    await once(responses[0]!, 'close');
  });

  it.each(['waits', 'works'])('closes the connection when it aborts while it %s', async (what) => {
    await using server = await serve(events(first, second));
    const controller = new AbortController();
    const { signal } = controller;
    const following = storeAt(server).followChanges({ signal });
    await following.next();
    const closed = once(responses[0]!, 'close');
    if (what === 'waits') await following.next();
    const next = what === 'waits' ? failureOf(following.next()) : undefined;
    const reason = new Error('enough');
    controller.abort(reason);
    await closed;
    expect(await (next ?? failureOf(following.next()))).toBe(reason);
  });

  it('ends a pause when it aborts', async () => {
    await using server = await serve(refuse(ERRORS.overloaded, { 'Retry-After': '60' }));
    const controller = new AbortController();
    const next = storeAt(server).followChanges({ signal: controller.signal }).next();
    await vi.waitFor(() => expect(requests).toHaveLength(1), PATIENCE);
    controller.abort();
    await expect(next).rejects.toBe(controller.signal.reason);
  });

  it('that reads slowly holds back the service', async () => {
    let written = 0;
    const filler = 'x'.repeat(100_000);
    await using server = await serve((response) => {
      events()(response);
      const write = () => {
        do written += 1;
        while (response.write(`id: ${written}\ndata: {"position":${written},"f":"${filler}"}\n\n`));
      };
      response.on('drain', write);
      write();
    });
    const following = storeAt(server).followChanges();
    await following.next();
    let before = 0;
    while (written > before) {
      before = written;
      expect(written).toBeLessThan(1_000);
      await sleep(300);
    }
    expect((await following.next()).value).toMatchObject({ position: 2n });
    await following.return();
  });

  /** Waits until what was written has arrived, without the timers that the test replaces. */
  async function arrival(): Promise<void> {
    const begin = performance.now();
    while (performance.now() - begin < 200) await new Promise(setImmediate);
  }
});
