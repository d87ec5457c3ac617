import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { itOnCluster } from '../support/deployment.js';
import { FaultyLink } from '../support/faulty-link.js';
import type { Environment } from '../support/process.js';
import { PRUNE_ALL } from '../support/prune.js';
import {
  messagesOf,
  misdelivered,
  WebhookReceivers,
  WEBHOOKS,
} from '../support/webhook-receivers.js';

interface Fixtures {
  readonly environment: Environment;
  readonly receivers: WebhookReceivers;
  readonly link: FaultyLink;
}

const it = itOnCluster.extend<Fixtures>({
  environment: WEBHOOKS,
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern which other fixtures this one needs.
  receivers: async ({}, use) => {
    const receivers = await WebhookReceivers.start();
    await use(receivers);
    receivers.stop();
  },
  /** Between the primary and its standby. */
  link: async ({ cluster: { primary, standby } }, use) => {
    const link = await FaultyLink.to(primary.url);
    await standby.stop();
    await standby.startAsStandbyOf(link);
    await use(link);
    await link.close();
  },
});

it('pass over no change after a failover, or say that some may be missing', async ({
  cluster: { primary, standby },
  address,
  link,
  replica,
  receivers,
}) => {
  let lastId = 0;
  const create = async (count: number) => {
    for (let n = 0; n < count; n += 1) await replica.create((lastId += 1));
  };
  const { id, receiver } = await receivers.listen(replica, '/one');
  const webhook = async () => (await replica.read(`/webhooks/${id}`)) as Webhook;
  const paused = (reason: string) =>
    vi.waitFor(
      async () => expect(await webhook()).toMatchObject({ pausedReason: reason }),
      PATIENCE,
    );
  const resume = async (from: string) => {
    expect((await replica.send('POST', `/webhooks/${id}/resume`, { from })).status).toBe(200);
  };
  const positionOn = async (server: typeof primary) => {
    const [row] = await server.query(
      "SELECT holder, positions ->> 'plant' AS position FROM webhooks",
    );
    expect(row!['holder']).toBeNull();
    return String(row!['position']);
  };
  const idle = (server: typeof primary) => vi.waitFor(() => positionOn(server), PATIENCE);

  await create(10);
  await receiver.gotLast(await messagesOf(primary.url));
  await idle(primary);
  await standby.catchUpWith(primary);
  link.poison({ kind: 'down' });
  // Its positions from now on are unknown to the standby.
  await primary.restart();
  await create(10);
  const lost = await messagesOf(primary.url);
  await receiver.gotLast(lost);
  const ahead = await idle(primary);
  primary.signal('SIGKILL');
  // For a second, what was read can be sent again. It would move the webhook to where this server was.
  await sleep(1_500);
  await standby.promote();
  address.leadTo(standby.url);
  await create(10);
  const messages = await messagesOf(standby.url);
  expect(messages).toHaveLength(20);
  await receiver.gotLast(messages);
  const got = receiver.messages.filter((message) => !lost.slice(10).includes(message));
  expect(misdelivered(got, messages)).toEqual({ faults: [], repeated: 0 });
  const known = await idle(standby);

  // The table of webhooks is newer than that of the records.
  const count = receiver.messages.length;
  await standby.query(`UPDATE webhooks SET positions = '{"plant": "${ahead}"}'`);
  await paused('position-unknown');
  await create(1);
  await resume('stopped');
  await paused('position-unknown');
  expect((await webhook()).lastError).toContain(ahead);
  expect(receiver.messages).toHaveLength(count);

  await standby.query(PRUNE_ALL);
  await standby.query(`UPDATE webhooks SET positions = '{"plant": "${known}"}'`);
  await create(1);
  await resume('stopped');
  await paused('changes-pruned');
  expect(receiver.messages).toHaveLength(count);
  await resume('oldest');
  await receiver.gotLast(await messagesOf(standby.url));
  expect(receiver.messages).toHaveLength(count + 1);
});

interface Webhook {
  readonly pausedReason?: string;
  readonly lastError?: string;
}
