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
    // At the exit, Node.js resets the terminal, and aborts if it is gone.
    process.once('exit', endAtOnce);
    end(name);
  });
}

function endAtOnce(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}
