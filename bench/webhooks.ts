import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { bestLoadGenerator } from './load.js';
import type { Measured } from './load.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run bench:webhooks: what webhooks cost creates. Half of their receivers never respond. */

const { values: options } = parseArgs({
  options: {
    webhooks: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '4' },
  },
});
const [webhooks, rounds, seconds] = [options.webhooks, options.rounds, options.seconds].map(Number);

const CONNECTIONS = 64;

/** For messages that are being sent, in milliseconds. */
const REST = 1_500;

const KINDS = ['without', 'with'] as const;
type Kind = (typeof KINDS)[number];

interface Sample {
  readonly perSecond: number;
  readonly latency: readonly number[];
  /** Processor time of the service for a create, in microseconds. */
  readonly cpu: number;
  /** Of the service, in bytes. */
  readonly memory: number;
  readonly deliveriesPerSecond: number;
}

const generator = await bestLoadGenerator();
const receivers = fork(new URL('webhook-receivers.js', import.meta.url));
const [port] = (await once(receivers, 'message')) as [number];
const databases = await Databases.start();
const database = await databases.create('webhooks');
const environment = {
  WEBHOOK_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  WEBHOOK_ALLOWED_NETWORKS: 'loopback',
};
const contender = { ...PLANT_STORE, environment };
const running = await Running.start(contender, database.url, databases.folder);
let created = 0;
const progress = new Progress(2 * rounds! + 4);
try {
  const id = await createWebhooks();
  const samples: Record<Kind, Sample[]> = { without: [], with: [] };
  for (let round = 0; round <= rounds!; round += 1) {
    // Neither kind always follows the other.
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
      await keep(kind, id);
      const sample = await creates();
      // The first round warms up.
      if (round > 0) samples[kind].push(sample);
      progress.step(`${kind} · ${Math.round(sample.perSecond)} req/s`);
    }
  }
  const rests = { without: await rest('without', id), with: await rest('with', id) };
  progress.end();
  process.stdout.write(`${report(samples, rests)}\n`);
} finally {
  await running.stop();
  await databases.stop();
  receivers.disconnect();
}

/** @returns the id of one of them */
async function createWebhooks(): Promise<string> {
  let id = '';
  for (let n = 0; n < webhooks!; n += 1) {
    const path = n % 2 === 0 ? 'hanging' : 'responding';
    const response = await send('/webhooks', { url: `http://127.0.0.1:${port}/${path}/${n}` });
    ({ id } = (await response.json()) as { readonly id: string });
  }
  await database.query('CREATE TABLE kept_webhooks AS TABLE webhooks');
  return id;
}

/** Removes all webhooks, or restores them, for the changes that follow. */
async function keep(kind: Kind, id: string): Promise<void> {
  await database.query('TRUNCATE webhooks, webhook_deliveries');
  await database.checkpoint();
  await sleep(REST);
  if (kind === 'without') return;
  await database.query(
    "UPDATE kept_webhooks SET positions = (SELECT jsonb_build_object('plant', horizon::text) FROM plant_changes_horizon())",
  );
  await database.query('INSERT INTO webhooks SELECT * FROM kept_webhooks');
  // Then the service looks for webhooks at once.
  await send(`/webhooks/${id}/resume`, { from: 'stopped' });
}

/** The table grows: to empty it would be a change without a record, after which webhooks are paused. */
async function creates(): Promise<Sample> {
  await load(1);
  const [usage, before] = [await running.usage(), await deliveries()];
  const { succeeded, errors, latency, ...measured } = await load(seconds!);
  const { cpu, memory } = await running.usage();
  assert.equal(errors, 0);
  return {
    perSecond: succeeded / measured.seconds,
    latency,
    cpu: (cpu - usage.cpu) / succeeded,
    memory,
    deliveriesPerSecond: ((await deliveries()) - before) / measured.seconds,
  };
}

async function load(duration: number): Promise<Measured> {
  const { url, tokens } = running;
  const measured = await generator.run({
    url,
    tokens,
    connections: CONNECTIONS,
    seconds: duration,
    first: created,
  });
  // Some may be stored without a response.
  created += measured.succeeded + CONNECTIONS;
  return measured;
}

/** What the service does when nothing changes. */
async function rest(kind: Kind, id: string) {
  await keep(kind, id);
  await sleep(REST);
  const [before, commits] = [await running.usage(), await database.commits()];
  await sleep(seconds! * 1_000);
  const { cpu, memory } = await running.usage();
  progress.step(`${kind} · at rest`);
  return {
    processor: (cpu - before.cpu) / (seconds! * 1_000_000),
    commitsPerSecond: ((await database.commits()) - commits) / seconds!,
    memory,
  };
}

async function send(path: string, body: object): Promise<Response> {
  const response = await fetch(`${running.url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${running.tokens[0]}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert(response.ok, path);
  return response;
}

async function deliveries(): Promise<number> {
  const metric = /webhook_deliveries_total\{outcome="delivered"\} (\d+)/;
  return Number(metric.exec(await running.metrics())?.[1] ?? NaN);
}

/** Medians, beside the median of the ratios of the rounds. */
function report(
  samples: Readonly<Record<Kind, readonly Sample[]>>,
  rests: Readonly<Record<Kind, Awaited<ReturnType<typeof rest>>>>,
): string {
  const row = (what: string, of: (sample: Sample) => number, digits = 0) => {
    const values = KINDS.map((kind) => samples[kind].map(of));
    const ratios = values[1]!.map((value, round) => value / values[0]![round]!);
    const medians = values.map((all) => median(all).toFixed(digits));
    return [what, ...medians, median(ratios).toFixed(2)];
  };
  const atRest = (what: string, of: (one: (typeof rests)['with']) => number, digits = 0) => [
    `at rest: ${what}`,
    ...KINDS.map((kind) => of(rests[kind]).toFixed(digits)),
    '',
  ];
  return table(
    ['', 'no webhooks', `${webhooks} webhooks`, 'ratio'],
    [
      row('creates/s', ({ perSecond }) => perSecond),
      row('p50, ms', ({ latency }) => latency[0]!, 2),
      row('p99, ms', ({ latency }) => latency[3]!, 2),
      row('processor time for a create, µs', ({ cpu }) => cpu),
      row('memory, MB', ({ memory }) => memory / 1e6),
      row('deliveries/s', (sample) => sample.deliveriesPerSecond)
        .slice(0, 3)
        .concat(''),
      atRest('processor, %', ({ processor }) => processor * 100, 1),
      atRest('transactions/s', ({ commitsPerSecond }) => commitsPerSecond),
      atRest('memory, MB', ({ memory }) => memory / 1e6),
    ],
  );
}
