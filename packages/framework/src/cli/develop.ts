import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { readConfig } from '../config/config.js';
import type { Identity } from '../config/identity.js';
import { installedPackage } from '../config/installed-package.js';
import { localConfig, onLocalInstance } from '../local.js';
import { createLogger } from '../observability/logger.js';
import { runProgram } from '../app/run-program.js';
import { welcome } from '../app/welcome.js';

const SERVICE = 'build/main.js';

let service: ChildProcess | undefined;
let isEnding = false;

/**
 * Rebuilds and restarts the service of the working directory after each change of its sources. The embedded database belongs
 * to this process and keeps running.
 *
 * @example await developCommand(IDENTITY);
 */
export async function developCommand(identity: Identity): Promise<void> {
  // A second signal ends this process at once, which the service must not survive.
  process.once('exit', () => service?.kill('SIGKILL'));
  process.exitCode = await runProgram(identity, (signal) => develop(identity, signal));
}

async function develop(identity: Identity, signal: AbortSignal): Promise<number> {
  const config = readConfig(identity, process.env);
  if (config.database.url !== undefined) return watch(signal);
  const logger = createLogger(config.logLevel, undefined, config.logFormat);
  return onLocalInstance(identity, logger, signal, async (local) => {
    const own = await localConfig(config, local);
    const { host, port } = own.http;
    process.stdout.write(welcome(own, { address: host, port, family: '' }));
    // Inherited by the service.
    Object.assign(process.env, { DATABASE_URL: own.database.url, AUTH_TOKEN: own.auth.token });
    return watch(signal);
  });
}

/**
 * Runs the compiler in watch mode and restarts the service after each build.
 *
 * @returns the exit code of the compiler
 * @throws AbortError when `signal` ends both
 */
async function watch(signal: AbortSignal): Promise<number> {
  const tsc = installedPackage('typescript/bin/tsc');
  const flags = '--build tsconfig.build.json --watch --preserveWatchOutput --pretty'.split(' ');
  const compiler = spawn(process.execPath, [tsc, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: compiler.stdout }).on('line', (line) => {
    process.stdout.write(`${line}\n`);
    if (!line.includes('Found 0 errors') || isEnding) return;
    // Needs no drain: every acknowledged row is stored already.
    if (service === undefined) start();
    else service.kill('SIGKILL');
  });
  try {
    const [code] = (await once(compiler, 'exit', { signal })) as [number | null];
    return code ?? 1;
  } finally {
    isEnding = true;
    compiler.kill();
    if (service?.kill()) await once(service, 'exit');
  }
}

function start(): void {
  const child = spawn(process.execPath, ['--enable-source-maps', SERVICE], { stdio: 'inherit' });
  service = child;
  child.once('exit', () => {
    service = undefined;
    if (child.killed && !isEnding) start();
  });
}
