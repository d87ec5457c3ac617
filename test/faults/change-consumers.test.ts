import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { Replica } from '../support/replica.js';
import { buildToolLibrary } from '../support/tool-library.js';

/** In milliseconds. */
const HANDOVER = 30_000;

/** Receives the notices that the handler of the tool library sends. */
async function startReceiver() {
  const received: string[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const notice = (await request.toArray()).join('');
    if (notice.startsWith('loan')) received.push(notice);
    response.end();
  };
  const server = createServer((request, response) => void receive(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Loans beyond those that a test waits for, so that a kill comes between changes. More would only take long to be handled. */
const SPARE = 100;

/** Lends tools and takes them back, until it is stopped. Whoever fails comes again with another tool. */
class Borrowers {
  lent = 0;
  private goal = 0;
  private isStopped = false;
  private readonly clients: Promise<unknown>;

  constructor(replicas: readonly Replica[]) {
    this.clients = Promise.all(
      replicas.flatMap((replica) => [this.come(replica), this.come(replica)]),
    );
  }

  async served(count: number): Promise<void> {
    this.goal = this.lent + count;
    await vi.waitUntil(() => this.lent >= this.goal, { timeout: 2 * PATIENCE, interval: 5 });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.clients;
  }

  private async come(replica: Replica): Promise<void> {
    while (!this.isStopped) {
      if (this.lent >= this.goal + SPARE) {
        await sleep(5);
        continue;
      }
      try {
        const tool = await replica.send('POST', '/tools', { name: 'Hammer' });
        const { id: toolId } = (await tool.json()) as { readonly id: number };
        const loan = await replica.send('POST', '/loans', { toolId, borrower: 'Ada' });
        const { id } = (await loan.json()) as { readonly id: string };
        await (await replica.send('DELETE', `/loans/${id}`)).text();
        if (loan.status === 201) this.lent += 1;
      } catch {
        // The replica was killed.
        await sleep(20);
      }
    }
  }
}

it('handles each change in order and at least once, whatever is killed', async ({
  postgres,
  workspace,
}) => {
  const main = await buildToolLibrary();
  const receiver = await startReceiver();
  const environment = {
    DATABASE_URL: postgres.url,
    NOTICES_URL: receiver.url,
    // The handler of a killed replica can have sent what it has not noted.
    LOG_FORMAT: 'json',
    AUTH_TOKEN: TOKEN,
  };
  const replicas: Replica[] = [];
  for (let replica = 0; replica < 2; replica += 1) {
    replicas.push(await Replica.start(workspace, environment, { main }));
  }
  const consumer = async () =>
    (await postgres.query(`SELECT * FROM change_consumers WHERE name = 'LoansService.tell'`))[0]!;
  await vi.waitFor(async () => expect((await consumer())['position']).not.toBeNull(), PATIENCE);
  const borrowers = new Borrowers(replicas);
  const handovers: number[] = [];
  for (let kill = 1; kill <= 4; kill += 1) {
    await borrowers.served(100);
    if (kill % 2 === 0) {
      process.kill(postgres.pid, 'SIGKILL');
      await postgres.startAgain();
    } else {
      const pid = Number(
        String((await consumer())['holder'])
          .split(' ')
          .at(-2),
      );
      const replica = replicas.find(({ service }) => service.pid === pid)!;
      await replica.kill();
      const [killedAt, before] = [performance.now(), receiver.received.length];
      await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(before), {
        timeout: PATIENCE,
        interval: 20,
      });
      handovers.push(performance.now() - killedAt);
      await replica.startAgain({ main });
    }
  }
  await borrowers.served(100);
  await borrowers.stop();
  const recorded = (
    await postgres.query('SELECT id, kind FROM loan_changes ORDER BY position')
  ).map(({ id, kind }) => `loan ${String(id)} ${String(kind)}`);
  expect(recorded.length).toBeGreaterThan(800);
  await vi.waitFor(() => expect(receiver.received.at(-1)).toBe(recorded.at(-1)), {
    timeout: PATIENCE,
    interval: 50,
  });
  receiver.stop();
  expect([...new Set(receiver.received)]).toEqual(recorded);
  // At most the one that was being handled comes again.
  expect(receiver.received.length - recorded.length).toBeLessThanOrEqual(10);
  for (const handover of handovers) expect(handover).toBeLessThan(HANDOVER);
  for (const replica of replicas) await replica.terminate();
});
