import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { it as itWithServers, itBehindPgBouncer } from '../support/deployment.js';
import { SESSIONS } from '../support/pgbouncer.js';
import type { Environment } from '../support/process.js';
import type { Replica } from '../support/replica.js';
import {
  messagesOf,
  misdelivered,
  WebhookReceivers,
  WEBHOOKS,
} from '../support/webhook-receivers.js';

/** In milliseconds. */
const HANDOVER = 30_000;

/** Changes beyond those that a test waits for, so that a fault comes between changes. More would only take long to be sent. */
const SPARE = 60;

interface Fixtures {
  readonly environment: Environment;
  readonly receivers: WebhookReceivers;
}

const it = itWithServers.extend<Fixtures>({
  environment: WEBHOOKS,
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern which other fixtures this one needs.
  receivers: async ({}, use) => {
    const receivers = await WebhookReceivers.start();
    await use(receivers);
    receivers.stop();
  },
});

/** Create plants, change and remove them, until they are stopped. Whoever fails goes on with another plant. */
class Gardeners {
  private changes = 0;
  private goal = 0;
  private lastId = 0;
  private isStopped = false;
  private readonly all: Promise<unknown>;

  constructor(replicas: readonly Replica[]) {
    this.all = Promise.all(replicas.flatMap((replica) => [this.work(replica), this.work(replica)]));
  }

  async made(changes: number): Promise<void> {
    this.goal = this.changes + changes;
    await vi.waitUntil(() => this.changes >= this.goal, { timeout: 2 * PATIENCE, interval: 5 });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.all;
  }

  private async work(replica: Replica): Promise<void> {
    while (!this.isStopped) {
      if (this.changes >= this.goal + SPARE) {
        await sleep(5);
        continue;
      }
      try {
        const id = (this.lastId += 1);
        await this.change(replica, 'POST', '/plants', { id, name: 'Fern', tag: 'indoor' });
        await this.change(replica, 'PATCH', `/plants/${id}`, { name: 'Tree fern', tag: null });
        await this.change(replica, 'DELETE', `/plants/${id}`);
      } catch {
        // The replica or its database was killed.
        await sleep(20);
      }
    }
  }

  private async change(...[replica, ...request]: [Replica, string, string, object?]) {
    const response = await replica.send(...request);
    await response.text();
    if (!response.ok) throw new Error(`status ${response.status}`);
    this.changes += 1;
  }
}

it('deliver each change in order and at least once to each address, whatever is killed or stopped', async ({
  postgres,
  replicas,
  receivers,
}) => {
  const { id, receiver } = await receivers.listen(replicas[0], '/one');
  const others = ['/two', '/failing', '/breaking'].map((path) =>
    receivers.listen(replicas[1], path),
  );
  const [two, failing, breaking] = (await Promise.all(others)) as [Hook, Hook, Hook];
  failing.receiver.statuses.push(200, 500, 500);
  breaking.receiver.statuses.push(200, 0, 200, 0);
  const gardeners = new Gardeners(replicas);
  /** The replica that sends to the first address. */
  const sending = async () => {
    const [row] = await postgres.query(`SELECT holder FROM webhooks WHERE id = '${id}'`);
    const pid = Number(String(row!['holder']).split(' ').at(-2));
    return replicas.find(({ service }) => service.pid === pid)!;
  };
  /** Waits until another replica sends again what this one has sent last, and returns how long that took. */
  const handover = async (before: number) => {
    const begin = performance.now();
    receiver.letGo();
    await receiver.got(before + 1);
    return performance.now() - begin;
  };
  await gardeners.made(30);

  await receiver.holdNext();
  const killed = await sending();
  await killed.kill();
  let sent = receiver.messages.length;
  process.kill(postgres.pid, 'SIGKILL');
  await postgres.startAgain();
  expect(await handover(sent)).toBeLessThan(HANDOVER);
  await killed.startAgain();
  await gardeners.made(30);

  // When the replica goes on, it has a response, and more to send.
  await receiver.holdNext();
  await gardeners.made(30);
  await receiver.holdNext();
  const stopped = await sending();
  stopped.service.kill('SIGSTOP');
  sent = receiver.messages.length;
  expect(await handover(sent)).toBeLessThan(HANDOVER);
  stopped.service.kill('SIGCONT');
  await stopped.metrics();
  await gardeners.made(30);

  await gardeners.stop();
  const messages = await messagesOf(postgres.url);
  const repetitions: number[] = [];
  for (const one of [receiver, two.receiver, failing.receiver, breaking.receiver]) {
    await one.gotLast(messages);
    const { faults, repeated } = misdelivered(one.messages, messages);
    expect({ url: one.url, faults, mostAtOnce: one.mostAtOnce }).toEqual({
      url: one.url,
      faults: [],
      mostAtOnce: 1,
    });
    repetitions.push(repeated);
  }
  // What the test is about has happened.
  expect(repetitions[0]).toBeGreaterThanOrEqual(2);
  expect(repetitions[2]).toBeGreaterThanOrEqual(2);
  expect(messages.length).toBeGreaterThan(150);
  for (const { service } of replicas) expect(service.stderr).toBe('');
});

itBehindPgBouncer(
  'deliver each change in order and at least once behind PgBouncer in transaction mode, also after it was killed',
  async ({ postgres, pgBouncer, start }) => {
    const receivers = await WebhookReceivers.start();
    onTestFinished(() => receivers.stop());
    const replicas = await Promise.all([start(WEBHOOKS), start(WEBHOOKS)]);
    const hooks = await Promise.all(
      replicas.map((replica, at) => receivers.listen(replica, `/${at}`)),
    );
    const gardeners = new Gardeners(replicas);
    await gardeners.made(60);
    // The replicas share sessions, of which none can keep a lock or a setting for a webhook.
    expect((await postgres.backends()).length).toBeLessThanOrEqual(SESSIONS);
    await pgBouncer.kill();
    await pgBouncer.startAgain();
    await gardeners.made(60);

    await gardeners.stop();
    const messages = await messagesOf(postgres.url);
    for (const { receiver } of hooks) {
      await receiver.gotLast(messages);
      const { faults } = misdelivered(receiver.messages, messages);
      expect({ faults, mostAtOnce: receiver.mostAtOnce }).toEqual({ faults: [], mostAtOnce: 1 });
    }
    for (const { service } of replicas) expect(service.stderr).toBe('');
  },
);

type Hook = Awaited<ReturnType<WebhookReceivers['listen']>>;
