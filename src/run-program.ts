import { existsSync } from 'node:fs';
import { inspect } from 'node:util';
import { StartupError } from './errors/startup.error.js';

/** Milliseconds within which npm repeats the signal of the terminal; a person takes longer for a second one. */
const REPETITION = 300;

/**
 * Runs a program, with the variables of a file `.env` where the environment has none, until it ends or a
 * signal aborts it.
 *
 * @param work may return an exit code
 * @returns the exit code
 */
export async function runProgram(
  work: (signal: AbortSignal) => Promise<number | void>,
  complain: (error: unknown) => void = writeToStderr,
): Promise<number> {
  const signal = onSignals();
  try {
    if (existsSync('.env')) process.loadEnvFile('.env');
    return (await work(signal)) ?? 0;
  } catch (error) {
    if (signal.aborted && error instanceof Error && error.name === 'AbortError') return 0;
    complain(error);
    return 1;
  }
}

/** Aborts at the first signal; one that comes later than its repetition ends the process at once. */
function onSignals(): AbortSignal {
  const controller = new AbortController();
  let first: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      first ??= performance.now();
      if (performance.now() - first > REPETITION) process.exit(1);
      controller.abort();
    });
  }
  return controller.signal;
}

function writeToStderr(error: unknown): void {
  const complaint = error instanceof StartupError ? error.message : inspect(error);
  for (const line of complaint.split('\n')) process.stderr.write(`plant-store: ${line}\n`);
}
