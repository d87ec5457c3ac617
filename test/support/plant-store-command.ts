import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { run } from '../../packages/command/src/command.js';
import type { OpenApiDocument } from '../../packages/command/src/resources.js';
import type { Limits } from '../../packages/command/src/connection/limits.js';
import { serviceOf } from '../../packages/command/src/service.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { IDENTITY } from '../../src/identity.js';
import { TOKEN } from './test-service.js';
import { DIST, DOCUMENT } from './application.js';

/** The built command, as in an image. */
const MAIN = fileURLToPath(new URL(`../../${DIST}/cli/plant-store.js`, import.meta.url));

/** What the command knows of the service. */
export const SERVICE = serviceOf({
  identity: IDENTITY,
  document: JSON.parse(readFileSync(DOCUMENT, 'utf8')) as OpenApiDocument,
});

/** Pauses that are short enough for tests. */
export const IMPATIENT: Limits = {
  idle: PATIENCE,
  firstPause: 5,
  longestPause: 50,
  patience: PATIENCE,
  firstContact: PATIENCE,
  unstoppable: PATIENCE,
};

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Readable;
  /** Takes the place of a stdout that reads everything. */
  readonly stdout?: Writable;
  /** Width of the terminal that stderr is. */
  readonly columns?: number;
  readonly limits?: Limits;
  readonly signal?: AbortSignal;
}

/** `plant-store` in this process. */
export class Run {
  stdout = '';
  stderr = '';
  readonly result: Promise<Result>;

  constructor(
    url: string,
    args: readonly string[],
    {
      env = {},
      stdin = Readable.from([]),
      stdout = this.collector((text) => (this.stdout += text)),
      columns,
      limits = IMPATIENT,
      signal = new AbortController().signal,
    }: RunOptions = {},
  ) {
    const stderr = Object.assign(
      this.collector((text) => (this.stderr += text)),
      columns === undefined ? {} : { isTTY: true, columns },
    );
    const terminal = {
      env: { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN, ...env },
      stdin,
      stdout,
      stderr,
    };
    this.result = run(SERVICE, args, terminal, signal, limits).then((code) => ({
      code,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  private collector(collect: (text: string) => void): Writable {
    const decoder = new TextDecoder();
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        collect(decoder.decode(chunk, { stream: true }));
        done();
      },
    });
  }
}

/** `plant-store` as a process. */
export class CommandProcess {
  readonly child: ChildProcess;
  readonly result: Promise<Result>;

  constructor(
    url: string,
    args: readonly string[],
    { env = {}, cwd }: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
  ) {
    this.child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: {
        PATH: process.env['PATH'],
        PLANT_STORE_URL: url,
        PLANT_STORE_TOKEN: TOKEN,
        ...env,
      },
    });
    let [stdout, stderr] = ['', ''];
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    this.result = new Promise((resolve) => {
      this.child.once('close', (code) => resolve({ code, stdout, stderr }));
    });
  }
}

/** A stdin that stays open until it is ended. */
export function openStdin(): PassThrough {
  return new PassThrough();
}
