import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PLANT_STORE, PROJECT, Running } from './contender.js';
import { Databases } from './databases.js';
import { bestLoadGenerator } from './load.js';
import { soakPicture } from './pictures.js';
import type { SoakSample } from './pictures.js';
import { Progress } from './progress.js';
import { median, table } from './report.js';

/* npm run soak: a constant load for a long time, which checks that memory, handles and latency do not grow. */

type Measure = Exclude<keyof SoakSample, 'minutes'>;

/** How far the last quarter's median may exceed the second quarter's. The first quarter warms up. */
const TOLERANCES: Readonly<Record<Measure, (before: number) => number>> = {
  memoryMb: (before) => before * 0.1 + 8,
  handles: () => 4,
  fileDescriptors: () => 4,
  // Shared machines are noisy.
  p50: (before) => before * 0.3 + 1,
  p99: (before) => before * 0.5 + 5,
};

const CONNECTIONS = 32;
const TURNS = 60;

/** Milliseconds for the connections of a turn to be gone. */
const REST = 500;

/** Minimum duration for the picture in the documentation, in minutes. */
const KEPT = 10;

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: String(KEPT) } },
});
const minutes = Number(options.minutes);
const seconds = Math.max(1, Math.round((minutes * 60) / TURNS));
const turns = Math.max(8, Math.round((minutes * 60) / seconds));

const generator = await bestLoadGenerator();
const databases = await Databases.start();
try {
  const samples = await soak();
  if (minutes >= KEPT) {
    await writeFile(join(PROJECT, 'docs', 'soak.svg'), await soakPicture(samples, CONNECTIONS));
  }
  process.stdout.write(`${verdict(samples)}\n`);
} finally {
  await databases.stop();
}

async function soak(): Promise<SoakSample[]> {
  const database = await databases.create('soak');
  const running = await Running.start(PLANT_STORE, database.url, databases.folder);
  const progress = new Progress(turns);
  const samples: SoakSample[] = [];
  const start = performance.now();
  try {
    for (let turn = 1; turn <= turns; turn += 1) {
      // Otherwise the growth of the table would be measured.
      await database.clear();
      const { succeeded, errors, latency } = await generator.run({
        url: running.url,
        connections: CONNECTIONS,
        seconds,
        first: 0,
      });
      if (errors > 0) throw new Error(`${errors} requests failed`);
      await sleep(REST);
      const metrics = await running.metrics();
      samples.push({
        minutes: (performance.now() - start) / 60_000,
        memoryMb: valueOf('process_resident_memory_bytes', metrics) / 1e6,
        handles: valueOf('nodejs_active_resources_total', metrics),
        fileDescriptors: valueOf('process_open_fds', metrics),
        p50: latency[0] ?? NaN,
        p99: latency[3] ?? NaN,
      });
      progress.step(`${Math.round(succeeded / seconds)} req/s`);
    }
  } finally {
    progress.end();
    await running.stop();
  }
  return samples;
}

function valueOf(name: string, metrics: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? NaN);
}

/** Prints a table. The process exits with 1 if a value grows. */
function verdict(samples: readonly SoakSample[]): string {
  const quarter = Math.floor(samples.length / 4);
  const rows = (Object.keys(TOLERANCES) as Measure[]).map((measure) => {
    const values = samples.map((sample) => sample[measure]);
    const before = median(values.slice(quarter, 2 * quarter));
    const after = median(values.slice(-quarter));
    const allowed = before + TOLERANCES[measure](before);
    // A missing value is a failure, too.
    const flat = after <= allowed;
    if (!flat) process.exitCode = 1;
    return [measure, before.toFixed(1), after.toFixed(1), allowed.toFixed(1), flat ? 'yes' : 'NO'];
  });
  return table(['', 'second quarter', 'last quarter', 'at most', 'flat'], rows);
}
