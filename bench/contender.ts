import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { usageOf } from './process-table.js';
import type { ProcessUsage } from './process-usage.js';

/** The project's folder, relative to `bench/dist/bench`. */
export const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

/** A program that serves `POST /plants`, `GET /plants/{id}` and `GET /plants`, to be measured. */
export type Contender = {
  readonly name: string;
  readonly title: string;
  /** What its callers send: an issued token or a JWT with this signature each. By default, all send the static token. */
  readonly credentials?: 'issued token' | 'RS256' | 'ES256';
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether it is a build of the service. */
  readonly isService?: true;
} & (
  | { /** Run by Node.js. */ readonly script: string }
  | { /** Path of an executable. */ readonly binary: string }
);

function yardstick(name: string): string {
  return fileURLToPath(new URL(`yardsticks/${name}.js`, import.meta.url));
}

/** The service, from a folder with a build. */
export function service(name: string, folder: string) {
  return {
    name,
    title: name,
    script: resolve(folder, 'dist', 'main.js'),
    isService: true,
  } as const;
}

export const PLANT_STORE: Contender = { ...service('plant-store', PROJECT), title: 'Plant Store' };
/** The service with the credentials of production. */
export const PLANT_STORE_TOKENS: Contender = {
  ...PLANT_STORE,
  name: 'plant-store-tokens',
  title: 'Plant Store, issued tokens',
  credentials: 'issued token',
};
export const PLANT_STORE_RS256: Contender = {
  ...PLANT_STORE,
  name: 'plant-store-rs256',
  title: 'Plant Store, JWT (RS256)',
  credentials: 'RS256',
};
export const PLANT_STORE_ES256: Contender = {
  ...PLANT_STORE,
  name: 'plant-store-es256',
  title: 'Plant Store, JWT (ES256)',
  credentials: 'ES256',
};
/** The service without the record of changes. */
export const PLANT_STORE_NO_CHANGES: Contender = {
  ...PLANT_STORE,
  name: 'plant-store-no-changes',
  title: 'Plant Store, no record of changes',
  environment: { CHANGES_ENABLED: 'false' },
};
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

/** The service as others run it. */
export const VARIANTS = [
  PLANT_STORE_TOKENS,
  PLANT_STORE_RS256,
  PLANT_STORE_ES256,
  PLANT_STORE_NO_CHANGES,
];
export const YARDSTICKS = [EXPRESS, FASTIFY, NEST_TUTORIAL, LIMIT];

/** What a contender accepts. */
export interface Credentials {
  readonly environment: Readonly<Record<string, string>>;
  /** One for each caller. */
  readonly tokens: readonly string[];
}

const TOKEN = randomBytes(32).toString('base64url');

export const STATIC_TOKEN: Credentials = { environment: { AUTH_TOKEN: TOKEN }, tokens: [TOKEN] };

/** What the image sets for its version of Node.js, if this process runs on that version. */
async function imageSettings(): Promise<{
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}> {
  const dockerfile = await readFile(join(PROJECT, 'Dockerfile'), 'utf8');
  const [, version] = /^FROM node:(\d+)/m.exec(dockerfile) ?? [];
  if (!process.version.startsWith(`v${version}.`)) return { flags: [], environment: {} };
  const [, arenas = ''] = /MALLOC_ARENA_MAX=(\d+)/.exec(dockerfile) ?? [];
  const [command = ''] = /^CMD \["node".*/m.exec(dockerfile) ?? [];
  return {
    flags: command.match(/--[\w=-]+/g) ?? [],
    environment: { MALLOC_ARENA_MAX: arenas },
  };
}

/** Timeout for a process to listen, to answer or to stop, in milliseconds. */
const BOUND = 30_000;

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** A running contender. */
export class Running {
  private constructor(
    readonly contender: Contender,
    readonly url: string,
    private readonly managementUrl: string | undefined,
    private readonly child: ChildProcess,
    readonly tokens: readonly string[],
  ) {}

  /** @param folder for its log, which is written to a file, as for a log collector */
  static async start(
    contender: Contender,
    databaseUrl: string,
    folder: string,
    { environment, tokens } = STATIC_TOKEN,
  ): Promise<Running> {
    const logFile = join(folder, `${contender.name}-${randomBytes(4).toString('hex')}.log`);
    const log = await open(logFile, 'w');
    const image =
      contender.isService === true ? await imageSettings() : { flags: [], environment: {} };
    const env = {
      ...image.environment,
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      PORT: '0',
      MANAGEMENT_PORT: '0',
      ...contender.environment,
      ...environment,
    };
    const child =
      'script' in contender
        ? fork(contender.script, {
            cwd: folder,
            execArgv: [
              ...image.flags,
              '--import',
              new URL('process-usage.js', import.meta.url).href,
            ],
            stdio: ['ignore', log.fd, log.fd, 'ipc'],
            env,
          })
        : spawn(contender.binary, { cwd: folder, stdio: ['ignore', log.fd, log.fd], env });
    await log.close();
    children.add(child);
    child.once('exit', () => children.delete(child));
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
          tokens,
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
    if ('binary' in this.contender) return usageOf(this.pid);
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
