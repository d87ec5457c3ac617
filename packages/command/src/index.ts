import { onEndSignals } from '@resource-service/framework/command';
import { run } from './command.js';
import { serviceOf } from './service.js';
import type { ServiceSource } from './service.js';

/* The public interface: the command of a service, which has the service's name. */

export type { ServiceSource } from './service.js';
export type { OpenApiDocument } from './resources.js';

/** Runs the command with the arguments of this process, and sets its exit code. */
export async function runCommand(source: ServiceSource): Promise<void> {
  const controller = new AbortController();
  onEndSignals((name) => controller.abort(name));
  // A reader may go before the last line is written. The exit code tells the result nevertheless.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  process.exitCode = await run(
    serviceOf(source),
    process.argv.slice(2),
    process,
    controller.signal,
  );
}
