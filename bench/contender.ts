import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ProcessUsage } from './process-usage.js';

/** The project's folder, relative to `bench/dist/bench`. */
export const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

/** A script that serves `POST /plants`, to be measured. */
export interface Contender {
  readonly name: string;
  readonly title: string;
  readonly script: string;
}

function yardstick(name: string): string {
  return fileURLToPath(new URL(`yardsticks/${name}.js`, import.meta.url));
}

/** The service, from a folder with a build. */
export function service(name: string, folder: string): Contender {
  return { name, title: name, script: resolve(folder, 'dist', 'main.js') };
}

export const PLANT_STORE = { ...service('plant-store', PROJECT), title: 'Plant Store' };
export const EXPRESS: Contender = {
  name: 'express',
  title: 'bare Express + pg',
  script: yardstick('express'),
};
export const FASTIFY: Contender = {
  name: 'fastify',
  title: 'bare Fastify + pg',
  script: yardstick('fastify'),
};
export const NEST_TUTORIAL: Contender = {
  name: 'nest-tutorial',
  title: 'NestJS, the tutorial way',
  script: yardstick('nest-tutorial'),
};
export const LIMIT: Contender = {
  name: 'limit',
  title: 'the limit: node:http + group commit',
  script: yardstick('limit'),
};

export const YARDSTICKS = [EXPRESS, FASTIFY, NEST_TUTORIAL, LIMIT];

/** The token of the service. The yardsticks check no token. */
export const TOKEN = randomBytes(32).toString('base64url');

/** Timeout for a process to listen, to answer or to stop, in milliseconds. */
const BOUND = 30_000;

/** A running contender. */
export class Running {
  private constructor(
    readonly contender: Contender,
    readonly url: string,
    private readonly managementUrl: string | undefined,
    private readonly child: ChildProcess,
  ) {}

  /** @param folder for its log, which is written to a file, as for a log collector */
  static async start(contender: Contender, databaseUrl: string, folder: string): Promise<Running> {
    const logFile = join(folder, `${contender.name}-${randomBytes(4).toString('hex')}.log`);
    const log = await open(logFile, 'w');
    const child = fork(contender.script, {
      cwd: folder,
      execArgv: ['--import', new URL('process-usage.js', import.meta.url).href],
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
      env: {
        NODE_ENV: 'production',
        DATABASE_URL: databaseUrl,
        AUTH_TOKEN: TOKEN,
        PORT: '0',
        MANAGEMENT_PORT: '0',
      },
    });
    await log.close();
    const onExit = () => child.kill('SIGKILL');
    process.once('exit', onExit);
    child.once('exit', () => process.off('exit', onExit));
    const deadline = performance.now() + BOUND;
    for (;;) {
      const text = await readFile(logFile, 'utf8');
      const address =
        /"address":"([^"]+)".*"msg":"listening"|"msg":"listening","address":"([^"]+)"/.exec(text);
      if (address) {
        const management = /"management":"([^"]+)"/.exec(text)?.[1];
        return new Running(
          contender,
          `http://${address[1] ?? address[2]}`,
          management && `http://${management}`,
          child,
        );
      }
      if (child.exitCode !== null || performance.now() > deadline) {
        child.kill('SIGKILL');
        throw new Error(`${contender.name} did not start:\n${text}`);
      }
      await sleep(5);
    }
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.contender.name} does not run`);
    return this.child.pid;
  }

  async usage(): Promise<ProcessUsage> {
    const answer = once(this.child, 'message', { signal: AbortSignal.timeout(BOUND) });
    this.child.send('usage');
    const [usage] = (await answer) as [ProcessUsage];
    return usage;
  }

  /** The metrics of the service. The yardsticks have none. */
  async metrics(): Promise<string> {
    if (this.managementUrl === undefined) throw new Error(`${this.contender.name} has no metrics`);
    return (await fetch(`${this.managementUrl}/metrics`)).text();
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit', { signal: AbortSignal.timeout(BOUND) });
    this.child.kill('SIGTERM');
    await exit;
  }
}
