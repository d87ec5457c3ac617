import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DIST } from './application.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';

/** The built program, as in an image. */
const MAIN = fileURLToPath(new URL(`../../${DIST}/main.js`, import.meta.url));

/** Timeout of every wait, in milliseconds. Only failures reach it. */
const BOUND = 60_000;

const POLL = 10;

/** Variables of the service; one that is `undefined` is not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Where a process listens. */
export interface Listening {
  /** Address of the public port, without a path. */
  readonly url: string;
  readonly port: number;
  readonly managementUrl: string;
}

/** The service as a process, run as a person or an image runs it. */
export class ServiceProcess {
  readonly pid: number;
  #stdout = '';
  #stderr = '';
  #exit: Exit | undefined;

  constructor(private readonly child: ChildProcess) {
    if (child.pid === undefined) throw new Error('node could not be started');
    this.pid = child.pid;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    child.once('close', (code, signal) => (this.#exit = { code, signal }));
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The lines on stderr. */
  get complaints(): string[] {
    return this.#stderr.split('\n').filter((line) => line !== '');
  }

  /** The lines on stdout that are JSON. */
  get log(): Record<string, unknown>[] {
    // The last piece is a line that is not whole yet, or nothing.
    const lines = this.#stdout.split('\n').slice(0, -1);
    return lines
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  /** Waits for a whole line on stdout. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return this.expectOutput(String(pattern), () => {
      const lines = this.#stdout.split('\n').slice(0, -1);
      return lines.map((line) => pattern.exec(line)).find((match) => match !== null);
    });
  }

  /** Waits until a line has been logged this many times. */
  logged(message: string, times = 1): Promise<Record<string, unknown>> {
    const find = () => this.log.filter(({ msg }) => msg === message)[times - 1];
    return this.expectOutput(message, find);
  }

  async listening(times = 1): Promise<Listening> {
    const { address, management } = await this.logged('listening', times);
    const url = `http://${String(address)}`;
    return { url, port: Number(new URL(url).port), managementUrl: `http://${String(management)}` };
  }

  /** The token that the process printed. */
  async token(): Promise<string> {
    return (await this.printed(/^ *Token +(\S+)$/))[1] ?? '';
  }

  /** The `curl` line that the process printed. */
  async curlLine(): Promise<string> {
    return (await this.printed(/^curl .*$/))[0];
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Signals the whole process group, as Ctrl-C on a terminal does; for a process with a group of its own. */
  killGroup(signal: NodeJS.Signals): void {
    process.kill(-this.pid, signal);
  }

  /** Waits until the process has ended and all its output has arrived. */
  async exit(bound = BOUND): Promise<Exit> {
    await until(() => !this.running, bound);
    if (this.#exit === undefined) throw this.failure(`is still running after ${bound} ms`);
    return this.#exit;
  }

  private async expectOutput<T>(what: string, find: () => T | undefined): Promise<T> {
    await until(() => !this.running || find() !== undefined);
    const found = find();
    if (found === undefined) throw this.failure(`has not printed ${what}`);
    return found;
  }

  private failure(what: string): Error {
    return new Error(`the service ${what}\n${this.#stdout}\n${this.#stderr}`);
  }
}

export interface StartOptions {
  /** Starts the process in a separate process group. */
  readonly ownGroup?: boolean;
  /** A command that sets something up and then executes the command that follows it. */
  readonly through?: readonly string[];
  /** Another program than the service. */
  readonly main?: string;
}

/** A working directory for the service, with its files and processes. */
export class Workspace {
  private readonly services: ServiceProcess[] = [];

  private constructor(readonly folder: string) {}

  /** @param mode of the folder; others may enter by default, because root's database may have to run as another user */
  static async create(mode = 0o755): Promise<Workspace> {
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-start-'));
    await chmod(folder, mode);
    return new Workspace(folder);
  }

  /** Copies the folder. No process may be running in it. */
  async copy(): Promise<Workspace> {
    const other = await Workspace.create();
    // With owners and modes.
    await promisify(execFile)('cp', ['-a', join(this.folder, '.data'), other.folder]);
    return other;
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  /** Starts the service here, on free ports, with nothing of our own environment but the search path. */
  start(
    environment: Environment = {},
    { ownGroup = false, through = [], main = MAIN }: StartOptions = {},
  ): ServiceProcess {
    const [command, ...rest] = [...through, process.execPath, main] as const;
    const child = spawn(command, rest, {
      cwd: this.folder,
      env: { PATH: process.env['PATH'], PORT: '0', MANAGEMENT_PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: ownGroup,
    });
    const service = new ServiceProcess(child);
    this.services.push(service);
    return service;
  }

  /** Process ids of all processes in the folder. */
  processes(): number[] {
    return processesIn(this.folder);
  }

  /** Signals everything that runs here. */
  kill(signal: NodeJS.Signals): void {
    signalIn(this.folder, signal);
  }

  /** Processes that still run, after a grace period. */
  async leftovers(): Promise<number[]> {
    await until(() => this.processes().length === 0, PATIENCE);
    return this.processes();
  }

  /** Ends everything that runs here and removes the files. */
  async remove(): Promise<void> {
    for (const service of this.services) {
      if (service.running) service.kill('SIGKILL');
    }
    await Promise.all(this.services.map((service) => service.exit()));
    // PostgreSQL's immediate shutdown: unlike SIGKILL, it gives its shared memory back.
    for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
      this.kill(signal);
      await until(() => this.processes().length === 0, 5_000);
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Waits for a condition. Returns whether it became true in time. */
export async function until(condition: () => boolean, bound = BOUND): Promise<boolean> {
  const deadline = performance.now() + bound;
  while (!condition()) {
    if (performance.now() > deadline) return false;
    await sleep(POLL);
  }
  return true;
}

/** Processes whose command line or working directory is in the folder. */
export function processesIn(folder: string): number[] {
  return runningProcesses()
    .filter(({ description }) => description.includes(folder))
    .map(({ pid }) => pid);
}

/** Signals everything that runs in the folder. */
export function signalIn(folder: string, signal: NodeJS.Signals): void {
  for (const pid of processesIn(folder)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It left by itself.
    }
  }
}

interface RunningProcess {
  readonly pid: number;
  /** Its command line and, where that can be told, its working directory. */
  readonly description: string;
}

function runningProcesses(): RunningProcess[] {
  if (existsSync('/proc/self/cmdline')) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map((pid) => ({ pid: Number(pid), description: describeProcess(pid) }));
  }
  const table = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' });
  return table.split('\n').map((line) => ({ pid: parseInt(line, 10), description: line }));
}

function describeProcess(pid: string): string {
  try {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    // A zombie: it has ended, but its parent has not noticed yet.
    if (commandLine === '') return '';
    return `${commandLine} ${readlinkSync(`/proc/${pid}/cwd`)}`;
  } catch {
    return '';
  }
}
