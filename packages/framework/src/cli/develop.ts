import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Type } from '@nestjs/common';
import { readConfig } from '../config/config.js';
import type { Identity } from '../config/identity.js';
import { installedPackage } from '../config/installed-package.js';
import { localConfig, localTexts, onLocalInstance } from '../local.js';
import { createLogger } from '../observability/logger.js';
import { serviceModuleOf } from '../app/framework.module.js';
import type { ServiceModule } from '../app/framework.module.js';
import { runProgram } from '../app/run-program.js';
import { welcome } from '../app/welcome.js';

const SERVICE = 'build/main.js';

let service: ChildProcess | undefined;
let isEnding = false;

/**
 * Rebuilds and restarts the service of the working directory after each change of its sources. The embedded database belongs
 * to this process and keeps running.
 *
 * @param app the module for `bootstrap`; an identity alone, as in earlier versions, has no variables of its own
 *
 * @example await developCommand(AppModule);
 */
export async function developCommand(app: Type | Identity): Promise<void> {
  // A second signal ends this process at once, which the service must not survive.
  process.once('exit', () => service?.kill('SIGKILL'));
  const developed =
    typeof app === 'function'
      ? serviceModuleOf(app)
      : { identity: app, variables: {}, hasVerifiers: false };
  process.exitCode = await runProgram(developed.identity, (signal) => develop(developed, signal));
}

async function develop(
  developed: Pick<ServiceModule, 'identity' | 'variables' | 'hasVerifiers'>,
  signal: AbortSignal,
): Promise<number> {
  const { identity, variables, hasVerifiers } = developed;
  const config = readConfig(identity, process.env, variables, hasVerifiers);
  if (config.database.url !== undefined) return watch(signal);
  const logger = createLogger(config.logLevel, undefined, config.logFormat);
  return onLocalInstance(identity, logger, signal, async (local) => {
    const own = await localConfig(config, local, variables);
    const { host, port } = own.http;
    process.stdout.write(welcome(own, { address: host, port, family: '' }));
    const texts = await localTexts(config, local, variables);
    const given = { DATABASE_URL: own.database.url, AUTH_TOKEN: own.auth.token };
    // Inherited by the service.
    Object.assign(process.env, texts, given);
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
