#!/usr/bin/env node
import '../../packages/framework/src/config/node-version.js';

// An old Node.js version cannot load the rest, so the version check runs before.
const { runCommand } = await import('./command.js');
const { onEndSignals } = await import('../../packages/framework/src/local/end-signals.js');

const controller = new AbortController();
onEndSignals((name) => controller.abort(name));
// A reader may go before the last line is written. The exit code tells the result nevertheless.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exitCode = await runCommand(process.argv.slice(2), process, controller.signal);
