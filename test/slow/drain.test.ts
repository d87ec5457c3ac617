import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it as base, vi } from 'vitest';
import { lockPlants, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { until, Workspace } from '../support/process.js';
import type { Listening, ServiceProcess } from '../support/process.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';

// One test takes as long as the longest shutdown, on a machine that can be busy.
vi.setConfig({ testTimeout: 60_000 });

type Environment = Readonly<Record<string, string>>;

/** A service that runs as in a cluster. */
interface Running extends Listening {
  readonly service: ServiceProcess;
  readonly database: TestDatabase;
}

const it = base.extend<{ readonly environment: Environment; readonly running: Running }>({
  environment: {},
  running: async ({ environment }, use) => {
    const [workspace, database] = await Promise.all([Workspace.create(), createTestDatabase()]);
    try {
      const service = workspace.start({
        DATABASE_URL: `${database.url}?${WAIT_FOR_LOCKS}`,
        AUTH_TOKEN: TOKEN,
        ...environment,
      });
      await use({ service, database, ...(await service.listening()) });
    } finally {
      await workspace.remove();
      await database.drop();
    }
  },
});

const delayed = it.extend<{ readonly environment: Environment }>({
  environment: { SHUTDOWN_DELAY: '5' },
});

describe.concurrent('SIGTERM', () => {
  it('loses no acknowledged plant while clients keep sending', async ({ running }) => {
    const { service, database, port } = running;
    const clients = Array.from({ length: 8 }, () => new KeepAliveClient(running));
    const sending = clients.map((client) => client.sendWhileRunning());
    const answers = () => clients.flatMap((client) => client.answers);
    await until(() => answers().length >= 300);

    service.kill('SIGTERM');
    expect(await service.exit()).toEqual({ code: 0, signal: null });
    await Promise.all(sending);
    await expect(RawSocket.open(port)).rejects.toThrow('ECONNREFUSED');

    expect(answers().length).toBeGreaterThanOrEqual(300);
    expect(answers().filter(({ status }) => status !== 200)).toEqual([]);
    const last = clients.map((client) => client.answers.at(-1)?.connection);
    expect(last).toEqual(clients.map(() => 'close'));
    const acknowledged = answers().map(({ plant }) => plant);
    expect(await storedAmong(database, acknowledged)).toEqual(acknowledged);
    expectNoSecrets(service);
  });

  it('lets running requests finish, then closes their connections', async ({ running }) => {
    const { service, database, port, managementUrl } = running;
    const idle = await RawSocket.open(port);
    idle.send(requestFor({ id: 1, name: 'Monstera' }));
    expect((await idle.answer()).headers['connection']).toBe('keep-alive');
    const headersUnderWay = await RawSocket.open(port);
    const bodyUnderWay = await RawSocket.open(port);
    const [headers, body] = [2, 3].map((id) => requestFor({ id, name: 'Ficus' }));
    headersUnderWay.send(headers!.slice(0, 40));
    bodyUnderWay.send(body!.slice(0, -5));
    const unlock = await lockPlants(database, 'ACCESS EXCLUSIVE');
    const held = [4, 5].map((id) => ({ id, name: 'Calathea', tag: 'slow' }));
    const client = new KeepAliveClient(running);
    const sent: Promise<unknown>[] = [];
    for (const plant of held) {
      sent.push(client.send(plant));
      await unlock.waiting(sent.length);
    }
    const answers = Promise.allSettled(sent);

    service.kill('SIGTERM');
    await service.logged('shutting down');
    expect(await health(managementUrl, 'ready')).toEqual([
      503,
      { status: 'unavailable', reason: 'shutting down' },
    ]);
    expect(await health(managementUrl, 'live')).toEqual([200, { status: 'ok' }]);
    await expect(RawSocket.open(port)).rejects.toThrow('ECONNREFUSED');
    await idle.end();
    expect(idle.rest).toBe('');

    await unlock();
    const answered = expect.objectContaining({ status: 200, connection: 'close' });
    expect(await answers).toEqual(held.map(() => ({ status: 'fulfilled', value: answered })));
    headersUnderWay.send(headers!.slice(40));
    bodyUnderWay.send(body!.slice(-5));
    for (const socket of [headersUnderWay, bodyUnderWay]) {
      const answer = await socket.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([200, 'close']);
      await socket.end();
    }
    expect(await service.exit(5_000)).toEqual({ code: 0, signal: null });
    expect(await database.query('SELECT id::int FROM plants ORDER BY id')).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ id })),
    );
    // The buffer of the log is flushed at the end.
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped' });
    expectNoSecrets(service);
    for (const socket of [idle, headersUnderWay, bodyUnderWay]) socket.destroy();
  });

  delayed(
    'makes the service unready, while it still serves during SHUTDOWN_DELAY',
    async ({ running }) => {
      const { service, port, managementUrl } = running;
      service.kill('SIGTERM');
      await service.logged('shutting down');
      const late = await RawSocket.open(port);
      late.send(requestFor({ id: 1, name: 'Monstera' }));
      expect(await late.answer()).toMatchObject({
        status: 200,
        headers: { connection: 'keep-alive' },
      });
      expect((await health(managementUrl, 'ready'))[0]).toBe(503);
      expect(await service.exit()).toEqual({ code: 0, signal: null });
      late.destroy();
    },
  );

  it('ends the service within its timeouts, whatever clients and database do', async ({
    running,
  }) => {
    const { service, database, port } = running;
    const unlock = await lockPlants(database, 'ACCESS EXCLUSIVE');
    const held = Promise.allSettled([
      new KeepAliveClient(running).send({ id: 1, name: 'Monstera' }),
    ]);
    await unlock.waiting(1);
    // One client never ends its body, and one sends requests without reading the answers.
    const endless = await RawSocket.open(port);
    endless.send(requestFor({ id: 2, name: 'x'.repeat(10_000) }).slice(0, -9_000));
    const deaf = await RawSocket.open(port);
    let sent = 0;
    const nuisance = (async () => {
      while (service.running) {
        endless.send('x');
        deaf.send('GET /plants/1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
        sent++;
        await sleep(20);
      }
    })();
    await until(() => sent > 5);

    service.kill('SIGTERM');
    const start = performance.now();
    expect(await held).toEqual([
      { status: 'fulfilled', value: expect.objectContaining({ status: 503 }) },
    ]);
    const refusal = await endless.answer({ within: 20_000 });
    expect([refusal.status, refusal.headers['connection']]).toEqual([503, 'close']);
    expect(JSON.parse(refusal.body)).toMatchObject({ error: 50302 });
    expect(await service.exit()).toEqual({ code: 0, signal: null });
    // By default, clusters and init systems kill after 30 s or more.
    expect(performance.now() - start).toBeLessThan(20_000);
    await nuisance;
    await unlock();
    expect(await database.query('SELECT id FROM plants')).toEqual([]);
    expectNoSecrets(service);
    for (const socket of [endless, deaf]) socket.destroy();
  });

  it('is not delayed by connections that were never used', async ({ running }) => {
    const { service, port } = running;
    // Browsers open such connections in advance.
    const silent = await RawSocket.open(port);
    service.kill('SIGTERM');
    expect(await service.exit(5_000)).toEqual({ code: 0, signal: null });
    silent.destroy();
  });
});

interface SentPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

interface Answered {
  readonly plant: SentPlant;
  readonly status: number | undefined;
  readonly connection: string | undefined;
}

/** A client with keep-alive, which opens a new connection only where the server closed the previous. */
class KeepAliveClient {
  readonly answers: Answered[] = [];
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly running: Running) {}

  async sendWhileRunning(): Promise<void> {
    const { service } = this.running;
    while (service.running) {
      const name = `${randomUUID()} "é" 🌱`;
      const plant = { id: ids++, name, ...(ids % 2 ? { tag: `\u{1F33F}\n${ids}` } : {}) };
      // Without an answer, the outcome is unknown; after a refused connection, the client retries.
      const answer = await this.send(plant).catch(() => undefined);
      if (answer === undefined) await sleep(5);
      else this.answers.push(answer);
    }
    this.agent.destroy();
  }

  send(plant: SentPlant): Promise<Answered> {
    const { port } = this.running;
    return new Promise((resolve, reject) => {
      const options = {
        agent: this.agent,
        host: '127.0.0.1',
        port,
        path: '/plants',
        method: 'POST',
        headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      };
      request(options, (response) => {
        const { statusCode: status, headers } = response;
        const answered = { plant, status, connection: headers.connection };
        json(response).then(() => resolve(answered), reject);
      })
        .once('error', reject)
        .end(JSON.stringify(plant));
    });
  }
}

let ids = 1;

function requestFor(plant: SentPlant): string {
  const body = JSON.stringify(plant);
  return [
    'POST /plants HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${TOKEN}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** The plants that are stored exactly as sent, in the order of `plants`. */
async function storedAmong(
  database: TestDatabase,
  plants: readonly SentPlant[],
): Promise<SentPlant[]> {
  const rows = await database.query('SELECT id::int, name, tag FROM plants');
  const stored = new Map(rows.map((row) => [row['id'], row]));
  return plants.filter(({ id, name, tag = null }) => {
    const row = stored.get(id);
    return row?.['name'] === name && row['tag'] === tag;
  });
}

async function health(managementUrl: string, kind: 'live' | 'ready'): Promise<[number, unknown]> {
  const response = await fetch(`${managementUrl}/health/${kind}`);
  return [response.status, await response.json()];
}

function expectNoSecrets({ stdout, stderr }: ServiceProcess): void {
  expect(stderr).toBe('');
  expect(stdout).not.toContain(TOKEN);
  expect(stdout).not.toMatch(/bearer/i);
}
