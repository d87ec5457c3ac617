import { isatty } from 'node:tty';

const STANDARD_STREAMS = [0, 1, 2] as const;

/**
 * Calls a function at each signal that asks this process to end. SIGHUP says that the terminal is gone, so a process
 * without a terminal ignores it: `nohup` takes the terminal from all standard streams. Whether the signal was ignored at
 * the start is unknown, because Node.js resets it.
 */
export function onEndSignals(end: (name: NodeJS.Signals) => void): void {
  process.on('SIGINT', end).on('SIGTERM', end);
  const hasTerminal = STANDARD_STREAMS.some((stream) => isatty(stream));
  process.on('SIGHUP', (name) => {
    if (!hasTerminal) return;
    surviveWithoutTerminal();
    end(name);
  });
}

/** Lets the work end well. What is written to a terminal that is gone fails, and Node.js aborts when it resets it at the exit. */
function surviveWithoutTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  process.once('exit', () => {
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  });
}
