import { isatty } from 'node:tty';
import { inspect } from 'node:util';
import { withEnvFile } from '../config/env-file.js';
import type { Identity } from '../config/identity.js';
import { StartupError } from '../errors/startup.error.js';

/** npm forwards the terminal's signal, so it arrives twice within this time, in milliseconds. */
const DUPLICATE_SIGNAL = 300;

const STANDARD_STREAMS = [0, 1, 2] as const;

/**
 * Runs a program until it ends or a signal aborts it. Variables in `.env` apply where the environment does not set them.
 *
 * @returns the exit code
 */
export async function runProgram(
  identity: Identity,
  work: (signal: AbortSignal) => Promise<number | void>,
  report = (error: unknown) => writeToStderr(identity, error),
): Promise<number> {
  const signal = onSignals();
  for (const stream of [process.stdout, process.stderr])
    stream.off('error', lose).on('error', lose);
  try {
    Object.assign(process.env, withEnvFile(process.env));
    return (await work(signal)) ?? 0;
  } catch (error) {
    if (signal.aborted && error instanceof Error && error.name === 'AbortError') return 0;
    report(error);
    return error instanceof StartupError ? error.exitCode : 1;
  }
}

/** Output to a full disk or a closed terminal is lost, but does not end the program. */
function lose(): void {}

/** Aborts at the first signal. The second ends the process at once. */
function onSignals(): AbortSignal {
  const controller = new AbortController();
  let first: number | undefined;
  onEndSignals(() => {
    first ??= performance.now();
    if (performance.now() - first > DUPLICATE_SIGNAL) process.exit(1);
    controller.abort();
  });
  return controller.signal;
}

/**
 * Calls a function at each signal that asks this process to end. A process without a terminal, as after `nohup`, ignores SIGHUP:
 * Node.js resets whether the signal was ignored at the start.
 */
export function onEndSignals(end: (name: NodeJS.Signals) => void): void {
  process.on('SIGINT', end).on('SIGTERM', end);
  const hasTerminal = STANDARD_STREAMS.some((stream) => isatty(stream));
  process.on('SIGHUP', (name) => {
    if (!hasTerminal) return;
    // At the exit, Node.js aborts if it cannot reset the terminal.
    process.once('exit', endAtOnce);
    end(name);
  });
}

function endAtOnce(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

function writeToStderr({ name }: Identity, error: unknown): void {
  const text = error instanceof StartupError ? error.message : inspect(error);
  for (const line of text.split('\n')) process.stderr.write(`${name}: ${line}\n`);
}
