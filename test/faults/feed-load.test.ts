import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, vi } from 'vitest';
import { Crowd, TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { until } from '../support/process.js';
import { isAcknowledged } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';

/** Followers that do not read long changes. */
const STALLED = 200;

/** How late changes may reach followers where there is a processor for each process, in milliseconds. */
const LATEST = 1_000;

/** How late they may be if `control` is how late something comparable was on this machine, in milliseconds. */
const latestBeside = (control: number): number => Math.max(LATEST, 2 * control);

let replica: Replica;
let followers: LightFollower[];

it.beforeEach(({ replica: one }) => {
  replica = one;
  followers = [];
});

afterEach(() => {
  for (const follower of followers) follower.leave();
});

function follow(
  after: number,
  onEvent?: (plant: string) => void,
  { port } = replica,
): LightFollower {
  const follower = new LightFollower(port, after, onEvent);
  followers.push(follower);
  return follower;
}

/** When the plant was acknowledged, as of `performance.now()`. */
async function create(id: number, name = 'created', at = replica): Promise<number> {
  const response = await at.send('POST', '/plants', { id, name });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return performance.now();
}

async function latest(): Promise<number> {
  return ((await replica.read('/changes/latest')) as { position: number }).position;
}

/** Waits until a replica counts this many followers. */
async function haveFollowers(count: number, at = replica): Promise<void> {
  await vi.waitFor(
    async () => {
      const [, found] =
        /^plant_store_change_followers\{.*\} (\d+)$/m.exec(await at.metrics()) ?? [];
      expect(Number(found)).toBe(count);
    },
    { timeout: PATIENCE, interval: 200 },
  );
}

/** Memory of the replica in MB. */
function memory(): number {
  const status = readFileSync(`/proc/${replica.service.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

/** @param share such as 0.99 */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length * share)] ?? NaN;
}

it('a follower gets changes soon, at rest and beside as many creates as there can be', async () => {
  const receivedAt = new Map<string, number>();
  const polledAt = new Map<string, number>();
  const follower = follow(0, (plant) => receivedAt.set(plant, performance.now()));
  // The control: a client that asks all the time.
  const end = new AbortController();
  const polling = poll((plant) => polledAt.set(plant, performance.now()), end.signal);
  const acknowledgedAt = new Map<string, number>();
  for (let id = 1; id <= 100; id += 1) {
    acknowledgedAt.set(String(id), await create(id));
    await sleep(Math.random() * 60);
  }
  const delays = async () => {
    const newest = await latest();
    await until(() => follower.position >= newest, PATIENCE);
    await until(() => [...acknowledgedAt.keys()].every((id) => polledAt.has(id)), PATIENCE);
    const [followed, polled] = [receivedAt, polledAt].map((at) =>
      [...acknowledgedAt].map(([id, acknowledged]) => at.get(id)! - acknowledged),
    ) as [number[], number[]];
    acknowledgedAt.clear();
    return { followed, polled };
  };
  const atRest = await delays();
  expect(percentile(atRest.followed, 0.5)).toBeLessThan(
    Math.max(100, 2 * percentile(atRest.polled, 0.5)),
  );
  expect(Math.max(...atRest.followed)).toBeLessThan(latestBeside(Math.max(...atRest.polled)));

  const crowd = new Crowd({ urls: [replica.url], clients: 64, rivalry: 1_000_000n });
  await Promise.all([sleep(5_000), crowd.served(501)]);
  for (const { plant, sentAt, took } of (await crowd.stop()).filter(isAcknowledged)) {
    acknowledgedAt.set(String(plant.id), sentAt + took);
  }
  expect(acknowledgedAt.size).toBeGreaterThan(500);
  const beside = await delays();
  expect(Math.max(...beside.followed)).toBeLessThan(latestBeside(Math.max(...beside.polled)));
  end.abort();
  await polling;
});

/** Asks for changes, one page after the other. */
async function poll(onChange: (plant: string) => void, signal: AbortSignal): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    const response = await replica.send('GET', `/changes?after=${after}&limit=1000`);
    const text = await response.text();
    // As text, because a number of JavaScript cannot hold each id.
    for (const [, position, plant] of text.matchAll(/"position":(\d+).*?"id":(-?\d+)/g)) {
      after = Number(position);
      onChange(plant!);
    }
    await sleep(50);
  }
}

it('a thousand followers that come back far behind, all at once, get everything on their streams', async ({
  postgres,
}) => {
  await postgres.query(
    "INSERT INTO plant_changes (kind, principal, request_id, id) SELECT 'removed', 'jwt:a', 'r', n FROM generate_series(1, 1000) AS n",
  );
  const newest = await latest();
  for (let n = 0; n < 1_000; n += 1) follow(0);
  const hasAll = ({ position }: LightFollower) => position === newest;
  await until(() => followers.every((one) => one.isClosed || hasAll(one)), 240_000);
  expect(
    followers
      .filter((one) => one.isClosed || !hasAll(one))
      .map(({ isClosed, position }) => ({ isClosed, position })),
  ).toEqual([]);
});

it('a thousand followers of which half do not read cost little, and delay nobody', async ({
  start: startReplica,
}) => {
  // The control has a process of its own, so that it leaves no memory behind.
  const other = await startReplica();
  const control = await Readers.start(other);
  await haveFollowers(500, other);
  const beginning = performance.now();
  for (let id = 5_001; performance.now() - beginning < 10_000; id += 1) await control.create(id);
  await control.haveAll();
  control.leave();
  await other.terminate();

  for (let id = 1; id <= 100; id += 1) await create(id);
  const before = memory();
  let most = before;
  const stalled = Array.from({ length: STALLED }, () => follow(0));
  await haveFollowers(STALLED);
  await until(() => stalled.every(({ position }) => position > 0), PATIENCE);
  for (const follower of stalled) follower.socket.pause();
  // More than the kernel keeps for a connection.
  for (let id = 101; id <= 107; id += 1) {
    await create(id, 'x'.repeat(900_000));
    most = Math.max(most, memory());
  }
  const stalledSince = performance.now();

  const start = await latest();
  const slow = Array.from({ length: 500 - STALLED }, () => follow(start));
  for (const follower of slow) follower.socket.pause();
  const readers = await Readers.start(replica);
  await haveFollowers(1_000);
  for (let id = 1_001; performance.now() - stalledSince < 62_000; id += 1) {
    await readers.create(id);
    most = Math.max(most, memory());
  }
  const newest = await latest();
  await readers.haveAll();
  expect(readers.slowest).toBeLessThan(latestBeside(control.slowest));
  expect(most - before).toBeLessThan(150);

  // Those that have not read for 60 s are gone, and come back where they were.
  await haveFollowers(1_000 - STALLED);
  for (const follower of [...stalled, ...slow]) follower.socket.resume();
  await until(() => stalled.every(({ isClosed }) => isClosed), PATIENCE);
  const others = [...slow, ...readers.followers];
  await until(() => others.every(({ position }) => position === newest), PATIENCE);
  expect(others.filter(({ isClosed, position }) => isClosed || position !== newest)).toEqual([]);
  await Promise.all(stalled.map(({ position }) => comeBack(position, newest)));
  expect(replica.service.stderr).toBe('');
});

/** Five hundred followers of the creates of this class. */
class Readers {
  /** Most milliseconds until a create was answered, and until a follower got it. */
  slowest = 0;
  private received = 0;
  private readonly createdAt = new Map<string, number>();
  readonly followers: readonly LightFollower[];

  private constructor(
    start: number,
    private readonly at: Replica,
  ) {
    const onEvent = (plant: string) => {
      this.received += 1;
      this.note(performance.now() - this.createdAt.get(plant)!);
    };
    this.followers = Array.from({ length: 500 }, () => follow(start, onEvent, at));
  }

  static async start(at: Replica): Promise<Readers> {
    return new Readers(await latest(), at);
  }

  async create(id: number): Promise<void> {
    const begin = performance.now();
    this.createdAt.set(String(id), begin);
    this.note((await create(id, undefined, this.at)) - begin);
    await sleep(500);
  }

  async haveAll(): Promise<void> {
    await until(() => this.received === 500 * this.createdAt.size, PATIENCE);
    expect(this.received).toBe(500 * this.createdAt.size);
  }

  leave(): void {
    for (const follower of this.followers) follower.leave();
  }

  private note(delay: number): void {
    this.slowest = Math.max(this.slowest, delay);
  }
}

/** Follows, and again after the end of a stream, until a position is reached. */
async function comeBack(after: number, newest: number): Promise<void> {
  expect(after).toBeLessThan(newest);
  let missing = newest - after;
  for (let position = after; position < newest;) {
    const follower = follow(position, () => (missing -= 1));
    await until(() => follower.isClosed || follower.position === newest, PATIENCE);
    follower.leave();
    ({ position } = follower);
  }
  // Each position has a record here.
  expect(missing).toBe(0);
}

/** A follower on a bare connection, of which there can be a thousand in a process. */
class LightFollower {
  /** Of the last event that it has read. */
  position: number;
  isClosed = false;
  private text = '';
  readonly socket: Socket;

  /**
   * @param after the last position that it knows
   * @param onEvent called with the id of each plant that has changed
   */
  constructor(
    port: number,
    after: number,
    private readonly onEvent: (plant: string) => void = () => {},
  ) {
    this.position = after;
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => this.read(text));
    this.socket.on('error', () => {});
    this.socket.on('close', () => (this.isClosed = true));
    this.socket.write(
      `GET /changes?after=${after} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nAccept: text/event-stream\r\n\r\n`,
    );
  }

  leave(): void {
    this.socket.destroy();
  }

  private read(text: string): void {
    this.text += text;
    const end = this.text.lastIndexOf('\n\n');
    if (end === -1) return;
    for (const [, position, plant] of this.text
      .slice(0, end)
      .matchAll(/^id: (\d+)\r?\ndata: .*?"id":(-?\d+)/gm)) {
      this.position = Number(position);
      this.onEvent(plant!);
    }
    this.text = this.text.slice(end + 2);
  }
}
