import { cpus } from 'node:os';
import { Running } from './contender.js';
import type { Contender } from './contender.js';
import { credentialsOf } from './credentials.js';
import type { IssuedCredentials } from './credentials.js';
import { Databases } from './databases.js';
import type { BenchDatabase } from './databases.js';
import type { LoadGenerator, Operation } from './load.js';
import { measure } from './measure.js';
import { Progress } from './progress.js';
import { summarize } from './report.js';
import type { Results, Sample } from './report.js';

export interface Course {
  readonly contenders: readonly Contender[];
  readonly generator: LoadGenerator;
  readonly operations: readonly Operation[];
  readonly rounds: number;
  /** Whether each contender serves the operations before the first round, and before each of its turns. */
  readonly isWarmedUp: boolean;
  /** Of each measurement. */
  readonly seconds: number;
  /** Numbers of connections. */
  readonly levels: readonly number[];
}

/** Levels for everything but creates, to keep the benchmark short. */
const READ_LEVELS = new Set([1, 64]);

/** The level for other credentials than the static token, to keep the benchmark short. */
const CREDENTIALS_LEVEL = 64;

interface Entrant {
  readonly running: Running;
  readonly database: BenchDatabase;
}

/** Measures all contenders in turns, each with a separate database on the same server. */
export async function run(course: Course): Promise<Results> {
  const databases = await Databases.start();
  const issued: IssuedCredentials[] = [];
  const entrants: Entrant[] = [];
  try {
    for (const contender of course.contenders) {
      const database = await databases.create(contender.name);
      const { url } = database;
      const credentials = await credentialsOf(contender, url);
      issued.push(credentials);
      const running = await Running.start(contender, url, databases.folder, credentials);
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
    await Promise.all(issued.map((credentials) => credentials.close()));
    await databases.stop();
  }
}

async function measureInTurns(course: Course, entrants: readonly Entrant[]): Promise<Sample[]> {
  const { generator, rounds, seconds } = course;
  const samples: Sample[] = [];
  const warmUp = course.isWarmedUp ? heatsOf({ ...course, levels: [64] }, entrants) : [];
  const heats = heatsOf(course, entrants);
  const turns = (some: readonly Heat[]) => some.flatMap(({ starters }) => starters).length;
  const progress = new Progress(turns(warmUp) + rounds * turns(heats));
  for (const { operation, connections, starters } of warmUp) {
    for (const { running, database } of starters) {
      const load = { operation, connections, seconds, isWarmedUp: false };
      await measure(running, database, generator, load);
      progress.step(`warming up · ${operation} · ${running.contender.name}`);
    }
  }
  for (let round = 1; round <= rounds; round++) {
    for (const { operation, connections, starters } of heats) {
      // Each round starts with another contender, so that no contender always follows the same neighbour.
      const first = round % starters.length;
      for (const { running, database } of [...starters.slice(first), ...starters.slice(0, first)]) {
        const load = { operation, connections, seconds, isWarmedUp: course.isWarmedUp };
        const measurement = await measure(running, database, generator, load);
        const contender = running.contender.name;
        samples.push({ contender, operation, connections, round, ...measurement });
        const rate = Math.round(measurement.requestsPerSecond);
        progress.step(
          `round ${round} of ${rounds} · ${operation} · ${connections} connections · ${contender} · ${rate} req/s`,
        );
      }
    }
  }
  progress.end();
  return samples;
}

/** A load that several contenders take turns with. */
interface Heat {
  readonly operation: Operation;
  readonly connections: number;
  readonly starters: readonly Entrant[];
}

function heatsOf({ levels, operations }: Course, entrants: readonly Entrant[]): Heat[] {
  return levels.flatMap((connections) =>
    operations
      .filter((operation) => operation === 'create' || READ_LEVELS.has(connections))
      .map((operation) => ({
        operation,
        connections,
        starters: entrants.filter(
          ({ running: { contender } }) =>
            // What a search finds, and how, is a matter of the service.
            (operation !== 'search' || contender.isService === true) &&
            (contender.credentials === undefined ||
              (operation === 'create' && connections === CREDENTIALS_LEVEL)),
        ),
      })),
  );
}
