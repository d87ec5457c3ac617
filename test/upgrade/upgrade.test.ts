import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Crowd, GENTLE, TOKEN } from '../support/crowd.js';
import { lastingPort } from '../support/lasting-port.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import type { ReplicaOptions } from '../support/replica.js';
import { placesOf, startHaproxy } from '../support/reverse-proxy.js';
import type { ReverseProxy } from '../support/reverse-proxy.js';
import { buildPreviousRelease } from './previous-release.js';

const PLANTS = 1_000_000;

/** Creates that are served between the steps. */
const SOME = 300;

/** Names and tags that a release could write or read in another way than the other. */
const TEXTS = [
  '',
  ' ',
  'Aloe',
  'ß ẞ Σς',
  'e\u0301',
  '🌵',
  '"\\\n\u0001',
  'null',
  'x'.repeat(20_000),
];

let workspace: Workspace;
let postgres: OwnPostgres;
let previous: ReplicaOptions;

/** Migrates a million plants under load. */
const present: ReplicaOptions = { timeout: 400_000 };

beforeAll(async () => {
  previous = { main: buildPreviousRelease() };
  [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
});

afterAll(async () => {
  await workspace?.remove();
  await postgres?.stop();
});

it('is not noticed: to this release and back, with a million plants, under load', async () => {
  const port = await lastingPort();
  const environment = {
    DATABASE_URL: postgres.url,
    PUBLIC_BASE_URL: `https://localhost:${port}/api`,
    TRUST_PROXY: 'loopback',
    // Longer than two checks of the proxy may take.
    SHUTDOWN_DELAY: '3',
  };
  const replicas = [
    await Replica.start(workspace, environment, previous),
    await Replica.start(workspace, environment, previous),
  ] as const;
  const [first, second] = replicas;
  await postgres.query(
    `INSERT INTO plants SELECT n, 'Plant ' || left(md5(n::text), 16), CASE WHEN n % 3 = 0 THEN 'tag ' || n % 100 END
       FROM generate_series(1, ${PLANTS}) AS n`,
  );
  const untouched = await checksum();
  const proxy = await startHaproxy({
    folder: workspace.folder,
    template: fileURLToPath(new URL('../faults/haproxy.cfg', import.meta.url)),
    port,
    values: placesOf(replicas),
  });
  const crowd = new Crowd({
    urls: [`https://localhost:${port}/api/plants`],
    ca: proxy.ca,
    readsBack: true,
    pause: GENTLE,
  });
  try {
    await crowd.served(SOME);
    for (const [release, firstId] of [
      [present, -1_000n],
      [previous, -2_000n],
    ] as const) {
      for (const replica of replicas) {
        expect(await replica.terminate()).toEqual({ code: 0, signal: null });
        await crowd.served(SOME);
        const start = performance.now();
        await replica.startAgain(release);
        console.log(`ready after ${Math.round(performance.now() - start)} ms`);
        await isTakenUp(proxy, replica === first ? 'first' : 'second');
        await crowd.served(SOME);
        if (replica === second) continue;
        await compare(first, second, firstId);
        const [newer, older] = release === present ? [first, second] : [second, first];
        await change(newer, older, firstId);
      }
    }
    await compare(first, second, -3_000n);
  } finally {
    await crowd.stop();
    await proxy.stop();
  }

  const { attempts, misreadings } = crowd;
  console.log(`answers: ${JSON.stringify(tally(attempts))}`);
  const refused = attempts.filter((attempt) => !isServed(attempt));
  expect({ refused: refused.length, first: refused.slice(0, 10).map(inWords) }).toEqual({
    refused: 0,
    first: [],
  });
  expect(misreadings).toEqual([]);
  expect(contradictions(attempts, await postgres.plants(`abs(id) >= ${2n ** 59n}`))).toEqual([]);
  expect(await checksum()).toEqual(untouched);
  for (const { service } of replicas) expect(service.stderr).toBe('');
});

/** Otherwise no replica would be left for the proxy when the other one ends. */
async function isTakenUp(proxy: ReverseProxy, server: string): Promise<void> {
  const isUp = () => {
    const changes = proxy.log.matchAll(new RegExp(`Server plant_store/${server} is (\\w+)`, 'g'));
    return [...changes].at(-1)?.[1] === 'UP';
  };
  await vi.waitFor(() => expect(isUp()).toBe(true), { timeout: 10_000 });
}

/** Of the plants that were there before the update. */
function checksum(): Promise<Record<string, unknown>[]> {
  return postgres.query(
    `SELECT count(*), sum(hashtextextended(concat(name, '|', tag), id)) FROM plants
       WHERE id BETWEEN 1 AND ${PLANTS}`,
  );
}

/** Creates plants with each replica, and expects both to answer every request in the same way. */
async function compare(one: Replica, other: Replica, firstId: bigint): Promise<void> {
  let id = firstId;
  for (const [writer, reader] of [
    [one, other],
    [other, one],
  ] as const) {
    for (const name of TEXTS) {
      for (const tag of [undefined, ...TEXTS.slice(0, 3), name]) {
        id += 1n;
        const plant = `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
        const created = await ask(writer, 'POST', '', plant);
        expect(created).toEqual({ status: 200, body: JSON.stringify({ name, tag }) });
        // A repetition, another content for the same id, and a look-up.
        expect(await ask(reader, 'POST', '', plant)).toEqual(created);
        await sameAnswer(writer, reader, 'POST', '', `{"id":${id},"name":"other"}`);
        const found = await sameAnswer(writer, reader, 'GET', `/${id}`);
        expect(found).toEqual({ status: 200, body: plant });
      }
    }
  }
  for (const path of ['/1', `/${PLANTS}`, `/${PLANTS + 1}`, '/9223372036854775807', '/x', '/1.0']) {
    await sameAnswer(one, other, 'GET', path);
  }
  for (const body of [
    '',
    '{',
    '[]',
    '{"id":1}',
    '{"id":"1","name":"a"}',
    '{"id":1,"name":"\\u0000"}',
  ]) {
    await sameAnswer(one, other, 'POST', '', body);
  }
}

/** Changes plants in ways that only this release has. */
async function change(newer: Replica, older: Replica, firstId: bigint): Promise<void> {
  for (const [n, name] of TEXTS.entries()) {
    const id = firstId - 1n - BigInt(n);
    const plant = `{"id":${id},"name":"a","tag":"b"}`;
    const changed = `{"id":${id},${JSON.stringify({ name }).slice(1)}`;
    expect((await ask(older, 'POST', '', plant)).status).toBe(200);
    expect(await ask(newer, 'PUT', `/${id}`, changed)).toEqual({ status: 200, body: changed });
    expect(await sameAnswer(newer, older, 'GET', `/${id}`)).toEqual({ status: 200, body: changed });
    expect((await sameAnswer(newer, older, 'POST', '', changed)).status).toBe(200);
    expect((await sameAnswer(newer, older, 'POST', '', plant)).body).toBe(40009);
    expect((await ask(newer, 'DELETE', `/${id}`)).status).toBe(204);
    expect((await sameAnswer(newer, older, 'GET', `/${id}`)).body).toBe(40401);
    expect((await ask(older, 'POST', '', plant)).status).toBe(200);
  }
}

interface Answer {
  readonly status: number;
  /** Of a failure, its number: a message may change. */
  readonly body: unknown;
}

async function sameAnswer(
  one: Replica,
  other: Replica,
  ...request: readonly [method: string, path: string, body?: string]
): Promise<Answer> {
  const answers = [await ask(one, ...request), await ask(other, ...request)] as const;
  expect({ request, ...answers[0] }).toEqual({ request, ...answers[1] });
  return answers[0];
}

async function ask(replica: Replica, method: string, path: string, body?: string): Promise<Answer> {
  const url = new URL(replica.url);
  const response = await fetch(`${url.origin}/api${url.pathname}${path}`, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const { status, ok } = response;
  return { status, body: ok ? text : (JSON.parse(text) as { error: number }).error };
}
