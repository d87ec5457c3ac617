import { cpus } from 'node:os';
import { Running } from './contender.js';
import type { Contender } from './contender.js';
import { Databases } from './databases.js';
import type { BenchDatabase } from './databases.js';
import type { LoadGenerator } from './load.js';
import { measure } from './measure.js';
import { Progress } from './progress.js';
import { summarize } from './report.js';
import type { Results, Sample } from './report.js';

export interface Course {
  readonly contenders: readonly Contender[];
  readonly generator: LoadGenerator;
  readonly rounds: number;
  /** Of each measurement. */
  readonly seconds: number;
  /** Numbers of connections. */
  readonly levels: readonly number[];
}

interface Entrant {
  readonly running: Running;
  readonly database: BenchDatabase;
}

/** Measures all contenders in turns, each with a separate database on the same server. */
export async function run(course: Course): Promise<Results> {
  const databases = await Databases.start();
  const entrants: Entrant[] = [];
  try {
    for (const contender of course.contenders) {
      const database = await databases.create(contender.name);
      const running = await Running.start(contender, database.url, databases.folder);
      entrants.push({ running, database });
    }
    const samples = await measureInTurns(course, entrants);
    return {
      date: new Date().toISOString().slice(0, 10),
      machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${process.platform}`,
      node: process.version,
      postgres: databases.version,
      loadGenerator: course.generator.name,
      rounds: course.rounds,
      secondsPerRound: course.seconds,
      contenders: course.contenders.map(({ name, title }) => ({ name, title })),
      medians: summarize(samples),
      samples,
    };
  } finally {
    await Promise.all(entrants.map(({ running }) => running.stop()));
    await databases.stop();
  }
}

async function measureInTurns(
  { generator, rounds, seconds, levels }: Course,
  entrants: readonly Entrant[],
): Promise<Sample[]> {
  const samples: Sample[] = [];
  const progress = new Progress((rounds * levels.length + 1) * entrants.length);
  for (const { running, database } of entrants) {
    await measure(running, database, generator, { connections: 64, seconds });
    progress.step(`warming up · ${running.contender.name}`);
  }
  for (let round = 1; round <= rounds; round++) {
    for (const connections of levels) {
      // Each round starts with another contender, so that no contender always follows the same neighbour.
      const first = round % entrants.length;
      for (const { running, database } of [...entrants.slice(first), ...entrants.slice(0, first)]) {
        const measurement = await measure(running, database, generator, { connections, seconds });
        samples.push({ contender: running.contender.name, connections, round, ...measurement });
        const rate = Math.round(measurement.requestsPerSecond);
        progress.step(
          `round ${round} of ${rounds} · ${connections} connections · ${running.contender.name} · ${rate} req/s`,
        );
      }
    }
  }
  progress.end();
  return samples;
}
