import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PLANT_STORE, Running } from './contender.js';
import { Databases } from './databases.js';
import { plantOf } from './load.js';
import { peakMemoryOf } from './process-table.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run bench:import: import and export beside COPY, and single creates beside an import. Needs Linux. */

/** Connections of the single creates. */
const CONNECTIONS = 8;

/** Milliseconds between an answer and the next create of its connection, so that the creates saturate nothing. */
const PAUSE = 5;

/** Duration of the single creates without an import, in seconds. */
const SECONDS = 4;

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
  },
});
/** At most 3,000,000: the numbers of {@link plantOf} end there. */
const rows = Number(options.rows);
const rounds = Number(options.rounds);

interface Transfer {
  readonly perSecond: number;
  /** Processor time of the service for a row, in microseconds. */
  readonly service: number;
}

/** Latencies of single creates, in milliseconds. */
interface Creates {
  readonly p50: number;
  readonly p99: number;
}

interface Round {
  readonly copy: Transfer;
  readonly imported: Transfer;
  readonly exported: Transfer;
  readonly alone: Creates;
  readonly beside: Creates;
}

const databases = await Databases.start();
const database = await databases.create('import');
const running = await Running.start(PLANT_STORE, database.url, databases.folder);
const agent = new Agent({ keepAlive: true });
/** The same plants for COPY and for the import. */
const copyFile = join(databases.folder, 'plants.copy');
const ndjsonFile = join(databases.folder, 'plants.ndjson');
/** Id of the next single create. The ids in the files are odd. */
let nextId = 0;
try {
  await writeFiles();
  process.stdout.write(`${report(await measure(), await peakMemoryOf(running.pid))}\n`);
} finally {
  agent.destroy();
  await running.stop();
  await databases.stop();
}

/** In ascending order of the ids, like an export. */
async function writeFiles(): Promise<void> {
  const plants = Array.from({ length: rows }, (_, number) => plantOf(number));
  plants.sort((one, other) => one.id - other.id);
  const copyLines = plants.map(({ id, name, tag }) => `${id}\t${name}\t${tag}\n`);
  await writeFile(copyFile, copyLines.join(''));
  await writeFile(ndjsonFile, plants.map((plant) => `${JSON.stringify(plant)}\n`).join(''));
}

async function measure(): Promise<Round[]> {
  const progress = new Progress(rounds + 1);
  const results: Round[] = [];
  for (let number = 0; number <= rounds; number += 1) {
    const result = await measureRound();
    // The first round warms up.
    if (number > 0) results.push(result);
    progress.step(`import ${result.imported.perSecond.toFixed(0)} rows/s`);
  }
  progress.end();
  return results;
}

async function measureRound(): Promise<Round> {
  await database.clear();
  const copy = await measureTransfer(() => database.copyFrom(copyFile));
  await requireStored();
  await database.clear();
  const imported = await measureTransfer(importPlants);
  await requireStored();
  const exported = await measureTransfer(exportPlants);
  await database.clear();
  const alone = await createUntil(AbortSignal.timeout(SECONDS * 1000));
  await database.clear();
  const importEnd = new AbortController();
  const [beside] = await Promise.all([
    createUntil(importEnd.signal),
    importPlants().finally(() => importEnd.abort()),
  ]);
  return { copy, imported, exported, alone, beside };
}

async function measureTransfer(transfer: () => Promise<void>): Promise<Transfer> {
  const before = await running.usage();
  const start = performance.now();
  await transfer();
  const seconds = (performance.now() - start) / 1000;
  const after = await running.usage();
  return { perSecond: rows / seconds, service: (after.cpu - before.cpu) / rows };
}

async function requireStored(): Promise<void> {
  assert.deepEqual(await database.stored(), { rows, asSent: true });
}

async function importPlants(): Promise<void> {
  const sent = send('POST', '/plants/import', 'application/x-ndjson');
  const [answer] = await Promise.all([
    responseOf(sent),
    pipeline(createReadStream(ndjsonFile), sent),
  ]);
  assert.deepEqual(await json(answer), { created: rows, unchanged: 0, refused: 0 });
}

async function exportPlants(): Promise<void> {
  const sent = send('GET', '/plants/export').end();
  let bytes = 0;
  for await (const chunk of await responseOf(sent)) bytes += (chunk as Buffer).length;
  // An export ends with an empty line.
  const wanted = (await stat(ndjsonFile)).size + 1;
  assert.equal(bytes, wanted, 'the export differs from what was imported');
}

/** Creates plants one by one on each connection. */
async function createUntil(end: AbortSignal): Promise<Creates> {
  const latencies: number[] = [];
  const connection = async () => {
    while (!end.aborted) {
      const start = performance.now();
      await createPlant();
      latencies.push(performance.now() - start);
      await sleep(PAUSE);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  latencies.sort((one, other) => one - other);
  const percentile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? NaN;
  return { p50: percentile(0.5), p99: percentile(0.99) };
}

async function createPlant(): Promise<void> {
  const plant = { id: nextId, name: `Plant ${nextId}`, tag: 'indoor' };
  nextId += 2;
  const sent = send('POST', '/plants', 'application/json').end(JSON.stringify(plant));
  await text(await responseOf(sent));
}

function send(method: string, path: string, type?: string): ClientRequest {
  return request(`${running.url}${path}`, {
    agent,
    method,
    headers: {
      Authorization: `Bearer ${running.tokens[0]}`,
      ...(type !== undefined && { 'Content-Type': type }),
    },
  });
}

async function responseOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  return answer;
}

/** Medians; ratios are the medians of the ratios of the rounds. */
function report(results: readonly Round[], peakMemory: number): string {
  const of = (value: (round: Round) => number) => median(results.map(value));
  const transfers = table(
    [`${rows.toLocaleString('en')} plants`, 'rows/s', 'service µs/row'],
    (['copy', 'imported', 'exported'] as const).map((kind) => [
      { copy: '`COPY`', imported: 'import', exported: 'export' }[kind],
      of((round) => round[kind].perSecond).toFixed(0),
      kind === 'copy' ? '' : of((round) => round[kind].service).toFixed(1),
    ]),
  );
  const latencies = table(
    ['single creates', 'p50 ms', 'p99 ms'],
    (['alone', 'beside'] as const).map((kind) => [
      { alone: 'alone', beside: 'beside an import' }[kind],
      of((round) => round[kind].p50).toFixed(1),
      of((round) => round[kind].p99).toFixed(1),
    ]),
  );
  const ratio = (value: (round: Round) => number) => `${of(value).toFixed(2)} ×`;
  const figures = table(
    ['', 'measured', 'wanted'],
    [
      [
        'import against `COPY`: rows per second',
        ratio(({ copy, imported }) => imported.perSecond / copy.perSecond),
        '≥ 0.3',
      ],
      [
        'p50 of single creates: beside an import against alone',
        ratio(({ alone, beside }) => beside.p50 / alone.p50),
        '',
      ],
      [
        'p99 of single creates: beside an import against alone',
        ratio(({ alone, beside }) => beside.p99 / alone.p99),
        '≤ 2',
      ],
      ['peak memory of the service', `${(peakMemory / 1e6).toFixed(0)} MB`, ''],
    ],
  );
  return [transfers, latencies, figures].join('\n\n');
}
