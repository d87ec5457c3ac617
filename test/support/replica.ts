import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { TOKEN } from './crowd.js';
import { lastingPort } from './lasting-port.js';
import type { Environment, Exit, ServiceProcess, Workspace } from './process.js';

export interface ReplicaOptions {
  /** Another program than the service. */
  readonly main?: string;
  /** Variables that change, for this process and all later ones. */
  readonly environment?: Environment;
  /** Milliseconds until the process must be ready. */
  readonly timeout?: number;
}

/** A place for the service in a deployment: processes follow each other on the same ports. */
export class Replica {
  private current: ServiceProcess | undefined;

  private constructor(
    private readonly workspace: Workspace,
    private environment: Environment,
    readonly port: number,
    readonly managementPort: number,
  ) {}

  /** Starts a first process; resolves when it is ready. */
  static async start(
    workspace: Workspace,
    environment: Environment,
    options: ReplicaOptions = {},
  ): Promise<Replica> {
    const replica = new Replica(workspace, environment, await lastingPort(), await lastingPort());
    await replica.startAgain(options);
    return replica;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/plants`;
  }

  get managementUrl(): string {
    return `http://127.0.0.1:${this.managementPort}`;
  }

  /** The process that runs now, or ran last. */
  get service(): ServiceProcess {
    if (this.current === undefined) throw new Error('the replica was never started');
    return this.current;
  }

  /** Starts the next process; resolves when it is ready. */
  async startAgain({
    timeout = PATIENCE,
    environment: changes,
    ...options
  }: ReplicaOptions = {}): Promise<void> {
    this.environment = { ...this.environment, ...changes };
    const environment = {
      AUTH_TOKEN: TOKEN,
      LOG_LEVEL: 'warn',
      ...this.environment,
      PORT: String(this.port),
      MANAGEMENT_PORT: String(this.managementPort),
    };
    this.current = this.workspace.start(environment, options);
    const { service } = this;
    const ready = async () => {
      if (!service.running) return;
      const { ok } = await fetch(`${this.managementUrl}/health/ready`);
      if (!ok) throw new Error(`the service is not ready\n${service.stderr}`);
    };
    await vi.waitFor(ready, { timeout, interval: 20 });
    if (!service.running) throw new Error(`the service has ended\n${service.stderr}`);
  }

  /** Sends a request with the token of the clients. A body that is no text is sent as JSON. */
  send(method: string, path: string, body?: object | string): Promise<Response> {
    return fetch(new URL(path, this.url), {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  async read(path: string): Promise<unknown> {
    return (await this.send('GET', path)).json();
  }

  /** Creates a plant as soon as it can be created. */
  async create(id: number): Promise<void> {
    for (;;) {
      const response = await this.send('POST', '/plants', { id, name: 'created' });
      await response.text();
      if (response.status === 200) return;
      expect(response.status).toBe(503);
      await sleep(20);
    }
  }

  /** The most memory that the process has had, in bytes. */
  peakMemory(): number {
    const status = readFileSync(`/proc/${this.service.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.managementUrl}/metrics`)).text();
  }

  /** With the database. */
  async connections(): Promise<number> {
    const counts = (await this.metrics()).matchAll(/^db_client_connection_count\{.*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  kill(): Promise<Exit> {
    this.service.kill('SIGKILL');
    return this.service.exit();
  }

  /** Ends the process as a cluster does. */
  async terminate(): Promise<Exit> {
    this.service.kill('SIGTERM');
    return this.service.exit(40_000);
  }
}
