import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { readConfig } from '../config/config.js';
import { StartupError } from '../errors/startup.error.js';
import { startLocalInstance } from '../local/local-instance.js';
import { createLogger } from '../observability/logger.js';

/* `npm run start:dev`: builds and starts the service anew whenever a file of src changes. The embedded
   database belongs to this process, so that it outlives the service. */

const COMPILER = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const SERVICE = fileURLToPath(new URL('../main.js', import.meta.url));

const stopping = new AbortController();
let service: ChildProcess | undefined;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    stopping.abort();
    service?.kill(name);
  });
}

try {
  await develop(stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted) {
    const complaint = error instanceof StartupError ? error.message : inspect(error);
    process.stderr.write(`plant-store: ${complaint}\n`);
    process.exitCode = 1;
  }
}

async function develop(signal: AbortSignal): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const config = readConfig(process.env);
  if (config.database.url !== undefined) {
    await watch(process.env, signal);
    return;
  }
  const local = await startLocalInstance(
    config,
    createLogger(config.logLevel, undefined, config.logFormat),
    signal,
  );
  try {
    const { host, port } = config.http;
    process.stdout.write(local.welcome({ address: host, port, family: '' }));
    const { auth, database } = local.config;
    const environment = { DATABASE_URL: database.url, AUTH_TOKEN: auth.token };
    await watch({ ...process.env, ...environment }, signal);
  } finally {
    await local.stop();
  }
}

/** Until the signal is aborted. */
async function watch(environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  // Not `--build`, which needs some seconds for each change.
  const flags = [
    '--project',
    'tsconfig.build.json',
    '--watch',
    '--preserveWatchOutput',
    '--pretty',
  ];
  const compiler = spawn(process.execPath, [COMPILER, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  compiler.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text);
    if (!text.includes('Found 0 errors') || signal.aborted) return;
    // Nobody has to wait until its clients have gone: what it has acknowledged is stored.
    if (service === undefined) start(environment, signal);
    else service.kill('SIGKILL');
  });
  if (!signal.aborted) await once(signal, 'abort');
  compiler.kill();
  if (service !== undefined) await once(service, 'exit');
}

/** Starts the service, and again each time it is killed. */
function start(environment: NodeJS.ProcessEnv, signal: AbortSignal): void {
  const child = spawn(process.execPath, ['--enable-source-maps', SERVICE], {
    stdio: 'inherit',
    env: environment,
  });
  service = child;
  child.once('exit', () => {
    service = undefined;
    if (child.killed && !signal.aborted) start(environment, signal);
  });
}
