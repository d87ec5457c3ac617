import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../framework/test/support/patience.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import { Clock } from '../src/delivery/clock.js';
import { RETRIES } from '../src/delivery/retries.js';
import { LEASE } from '../src/delivery/webhook-rows.js';
import { accept, hang, isSigned, Receiver, status } from './support/receiver.js';
import { ENVIRONMENT, WebhookService } from './support/webhook-service.js';

let database: TestDatabase;
let receiver: Receiver;
const running = new Set<WebhookService>();

async function start(
  environment: Readonly<Record<string, string>> = ENVIRONMENT,
): Promise<WebhookService> {
  const service = await WebhookService.start(database, environment);
  running.add(service);
  return service;
}

beforeEach(async () => {
  database = await createTestDatabase();
  receiver = await Receiver.start();
});

afterEach(async () => {
  // What hangs would keep the service.
  await receiver.stop();
  for (const service of running) await service.stop();
  running.clear();
  await database.drop();
});

const eventually = (check: () => unknown) => vi.waitFor(check, PATIENCE);
const expectIds = (path: string, ...ids: readonly number[]) =>
  eventually(() => expect(receiver.idsOf(path)).toEqual(ids));

const stored = async () => (await database.query('SELECT * FROM webhooks'))[0]!;
const unpaused = async () => expect(await stored()).toMatchObject({ paused_reason: null });
const paused = (reason: string) =>
  eventually(async () => expect(await stored()).toMatchObject({ paused_reason: reason }));
/** Waits until nothing is left to send. */
const idle = () => eventually(async () => expect(await stored()).toMatchObject({ holder: null }));

describe('an address', () => {
  it('gets the changes that follow, in order, signed, with their content', async () => {
    const service = await start();
    await service.create(1);
    const { secret } = await service.listen(receiver.url());
    await service.create(9_007_199_254_740_993n);
    await service.rename(1, 'Axe');
    await service.remove(1);
    await eventually(() => expect(receiver.received).toHaveLength(3));
    const timestamp = expect.any(String) as string;
    expect(receiver.received[0]!.text).toContain('"data":{"id":9007199254740993,"name":"Saw"}');
    expect(receiver.received.slice(1).map(({ text }): unknown => JSON.parse(text))).toEqual([
      { type: 'tool.replaced', timestamp, data: { id: 1, name: 'Axe' } },
      { type: 'tool.removed', timestamp, data: { id: 1 } },
    ]);
    for (const message of receiver.received) expect(isSigned(message, secret)).toBe(true);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    const changes = await database.query('SELECT position FROM tool_changes ORDER BY position');
    expect(ids).toEqual(changes.slice(1).map(({ position }) => `tool_${String(position)}`));
  });

  it('gets only the kinds and resources that it wants', async () => {
    const service = await start();
    await service.listen(receiver.url(), { kinds: ['removed'], resources: ['tool'] });
    await service.create(1, 2);
    await service.remove(2);
    await expectIds('/', 2);
    expect(JSON.parse(receiver.received[0]!.text)).toMatchObject({ type: 'tool.removed' });
  });

  it('goes on where it was after a restart, and gets a message again that had no response', async () => {
    const first = await start();
    await first.listen(receiver.url());
    await first.create(1);
    await expectIds('/', 1);
    await idle();
    receiver.respond = hang;
    await first.create(2, 3);
    await expectIds('/', 1, 2);
    running.delete(first);
    await first.stop();
    receiver.respond = accept;
    await start();
    await expectIds('/', 1, 2, 2, 3);
    const [one, other] = receiver.received.slice(1).map(({ headers }) => headers['webhook-id']);
    expect(one).toBe(other);
  });

  it('gets each change once of several replicas, in order', async () => {
    const services = [await start(), await start()];
    for (const path of ['/a', '/b', '/c']) await services[0]!.listen(receiver.url(path));
    const ids = Array.from({ length: 60 }, (_, at) => at + 1);
    for (const id of ids) await services[id % 2]!.create(id);
    for (const path of ['/a', '/b', '/c']) await expectIds(path, ...ids);
  });

  it('that is paused gets the changes of a new resource since the start that brought it', async () => {
    const service = await start();
    await service.create(1);
    await service.listen(receiver.url());
    await database.query(`UPDATE webhooks SET positions = '{}', paused_at = now()`);
    await start();
    await eventually(async () => expect(await stored()).toHaveProperty('positions.tool'));
    await service.create(2);
    await database.query('UPDATE webhooks SET paused_at = NULL');
    await expectIds('/', 2);
  });

  it('is served by another replica when the lease of a dead one has ended', async () => {
    const service = await start();
    await service.listen(receiver.url());
    const lease = `UPDATE webhooks SET holder = 'dead', leased_until = now() + interval '${LEASE.duration} milliseconds'`;
    await database.query(lease);
    await service.create(1);
    await database.query(`UPDATE webhooks SET leased_until = now() - interval '1 second'`);
    await expectIds('/', 1);
  });

  it('is served at once after the clock of the database was set back', async () => {
    const service = await start();
    await service.listen(receiver.url());
    await service.create(1);
    await expectIds('/', 1);
    await idle();
    // When it was last served is in the future then.
    await database.query(`UPDATE webhooks SET leased_until = now() + interval '1 day'`);
    await service.create(2);
    await expectIds('/', 1, 2);
  });

  /** Changes a webhook that waits for a response, and expects that it gets no message until its lease has ended. */
  async function expectRest(change: (service: WebhookService, id: string) => Promise<unknown>) {
    const service = await start();
    const { id } = await service.listen(receiver.url());
    receiver.respond = hang;
    await service.create(1);
    await expectIds('/', 1);
    receiver.respond = accept;
    await change(service, id);
    // Several ticks.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(receiver.received).toHaveLength(1);
    await eventually(() => expect(receiver.received).toHaveLength(2));
  }

  it('that is replaced during a message gets no other before the lease has ended', () =>
    expectRest((service, id) =>
      service.send('PATCH', `/webhooks/${id}`, { url: receiver.url('/two') }),
    ));

  it('that is resumed during a message gets no other before the lease has ended', () =>
    expectRest((service, id) =>
      service.send('POST', `/webhooks/${id}/resume`, { from: 'stopped' }),
    ));

  it('gets no more from a replica that has lost the lease', async () => {
    const service = await start();
    await service.listen(receiver.url());
    receiver.respond = hang;
    await service.create(1);
    await expectIds('/', 1);
    const hanging = { holder: 'another', leased_until: expect.any(Date) as Date };
    await database.query(
      `UPDATE webhooks SET holder = 'another', leased_until = now() + interval '1 day'`,
    );
    // The next renewal finds out.
    await eventually(async () => expect(await service.metrics()).toContain('webhooks_paused 0'));
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE.renewal));
    expect(await stored()).toMatchObject(hanging);
    expect(receiver.idsOf()).toEqual([1]);
  });
});

describe('an address that fails', () => {
  /** Time passes as the test says. */
  function timeOf(service: WebhookService) {
    const clock = service.service.get(Clock);
    let now = Date.now();
    vi.spyOn(clock, 'now').mockImplementation(() => now);
    return (milliseconds: number) => (now += milliseconds);
  }

  const failed = (count: number) =>
    eventually(async () => {
      expect(receiver.received).toHaveLength(count);
      expect(await stored()).toMatchObject({ attempts: count, holder: null });
    });

  it('is tried again after growing pauses, and gets the message before those that follow', async () => {
    const service = await start();
    const pass = timeOf(service);
    const { id } = await service.listen(receiver.url());
    receiver.respond = status(500, {}, 'no\0t now');
    await service.create(1, 2);
    await failed(1);
    const reason = 'The response has the status 500.';
    expect(await service.find(id)).toMatchObject({ lastError: reason });
    expect(await service.find(id)).toHaveProperty('waitingSince');
    await eventually(async () =>
      expect(await service.metrics()).toMatch(/webhook_lag_seconds [\d.]*[1-9]/),
    );
    pass(RETRIES.first);
    await failed(2);
    pass(RETRIES.first);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(receiver.received.length).toBeLessThanOrEqual(3);
    receiver.respond = accept;
    pass(RETRIES.longest);
    await eventually(() => expect(receiver.idsOf().slice(-2)).toEqual([1, 2]));
    await eventually(async () =>
      expect(await stored()).toMatchObject({ attempts: 0, failing_since: null, last_error: null }),
    );
    await eventually(async () =>
      expect(await service.metrics()).toMatch(/webhook_deliveries_total\{outcome="failed"\} [23]/),
    );
    await eventually(async () =>
      expect(await service.metrics()).toContain('webhook_lag_seconds 0\n'),
    );
  });

  it('is paused after three days, and goes on where it has stopped when somebody resumes it', async () => {
    const service = await start();
    const pass = timeOf(service);
    const { id } = await service.listen(receiver.url());
    receiver.respond = status(500);
    await service.create(1, 2);
    await failed(1);
    pass(RETRIES.all - 1);
    await failed(2);
    await unpaused();
    pass(1);
    await paused('failing');
    const count = receiver.received.length;
    expect(await service.find(id)).toMatchObject({ pausedReason: 'failing' });
    await eventually(async () => expect(await service.metrics()).toContain('webhooks_paused 1'));
    receiver.respond = accept;
    pass(RETRIES.all);
    const resumed = await service.send('POST', `/webhooks/${id}/resume`, { from: 'stopped' });
    expect(resumed.status).toBe(200);
    expect(resumed.body).not.toHaveProperty('pausedReason');
    await eventually(() => expect(receiver.idsOf().slice(count)).toEqual([1, 2]));
  });

  it('that replaces one that has failed for three days has three days, too', async () => {
    const service = await start();
    timeOf(service);
    const { id } = await service.listen(receiver.url('/one'));
    receiver.respond = status(500);
    await service.create(1);
    await failed(1);
    await database.query(`UPDATE webhooks SET failing_since = failing_since - interval '3 days'`);
    await service.send('PATCH', `/webhooks/${id}`, { url: receiver.url('/two') });
    await eventually(async () =>
      expect(await stored()).toMatchObject({ attempts: 1, holder: null }),
    );
    expect(receiver.idsOf('/two')).toEqual([1]);
    await unpaused();
  });

  it('is paused at once by a response 410, and can go on with what follows', async () => {
    const service = await start();
    const { id } = await service.listen(receiver.url());
    receiver.respond = status(410);
    await service.create(1);
    await paused('gone');
    receiver.respond = accept;
    await service.create(2);
    await service.send('POST', `/webhooks/${id}/resume`, { from: 'newest' });
    await service.create(3);
    await expectIds('/', 1, 3);
  });

  it('waits as long as it asks for', async () => {
    const service = await start();
    const pass = timeOf(service);
    await service.listen(receiver.url());
    receiver.respond = status(503, { 'Retry-After': '600' });
    await service.create(1);
    await failed(1);
    const { next_attempt_at: next } = await stored();
    expect((next as Date).getTime()).toBe(pass(600_000));
    pass(1);
    await failed(2);
  });

  it('delays no other, and none of them a create', async () => {
    const service = await start();
    receiver.respond = (response, message) =>
      (message.path.startsWith('/dead') ? hang : accept)(response, message);
    const dead = Array.from({ length: 80 }, (_, at) => `/dead${at}`);
    for (const path of dead) await service.listen(receiver.url(path));
    for (const path of ['/a', '/b']) await service.listen(receiver.url(path));
    await service.create(1);
    await expectIds('/a', 1);
    await expectIds('/b', 1);
    await service.create(2);
    await expectIds('/a', 1, 2);
    await expectIds('/b', 1, 2);
  });
});

describe('an address whose changes may be missing', () => {
  it('is paused when they were pruned, and can begin with the oldest that are kept', async () => {
    const first = await start();
    const { id } = await first.listen(receiver.url());
    receiver.respond = status(410);
    await first.create(1);
    await paused('gone');
    receiver.respond = accept;
    await first.create(2);
    // What was read a moment ago is kept.
    running.delete(first);
    await first.stop();
    const service = await start();
    await database.query(`UPDATE tool_changes SET time = now() - interval '100 days'`);
    await database.query(`SELECT prune_tool_changes(now() - interval '1 day', 10)`);
    await service.create(3);
    await service.send('POST', `/webhooks/${id}/resume`, { from: 'stopped' });
    await paused('changes-pruned');
    expect(await service.find(id)).toMatchObject({
      lastError: expect.stringContaining('no longer kept') as string,
    });
    await service.send('POST', `/webhooks/${id}/resume`, { from: 'oldest' });
    await expectIds('/', 1, 3);
  });

  it('is paused when a change has no record, and goes on after it', async () => {
    const service = await start();
    const { id } = await service.listen(receiver.url());
    await service.create(1);
    await expectIds('/', 1);
    await database.query(`UPDATE tools SET name = 'Axe'`);
    await paused('changes-unrecorded');
    expect(await service.find(id)).toMatchObject({
      lastError: expect.stringMatching(/made without a record, such as by SQL$/) as string,
    });
    await service.create(2);
    await service.send('POST', `/webhooks/${id}/resume`, { from: 'stopped' });
    await paused('changes-unrecorded');
    await service.send('POST', `/webhooks/${id}/resume`, { from: 'oldest' });
    await expectIds('/', 1, 2);
  });

  it('is paused when the database does not know its position', async () => {
    const service = await start();
    const { id } = await service.listen(receiver.url());
    await database.query(`UPDATE webhooks SET positions = '{"tool": "9000000000000000000"}'`);
    await paused('position-unknown');
    await service.create(1);
    await service.send('POST', `/webhooks/${id}/resume`, { from: 'stopped' });
    await paused('position-unknown');
    expect(receiver.received).toEqual([]);
  });

  it('is paused when its position is no number, and stops no other', async () => {
    const service = await start();
    const { id } = await service.listen(receiver.url('/a'));
    await service.listen(receiver.url('/b'));
    await database.query(`UPDATE webhooks SET positions = '{"tool": "x"}' WHERE id = '${id}'`);
    await service.create(1);
    await expectIds('/b', 1);
    const reason = { pausedReason: 'position-unknown' };
    await eventually(async () => expect(await service.find(id)).toMatchObject(reason));
    expect(receiver.of('/a')).toEqual([]);
  });

  it.each(['[]', '["tool"]', '"x"', 'null'])(
    'is paused when its positions are no object (%s), and stops no other',
    async (positions) => {
      const service = await start();
      const { id } = await service.listen(receiver.url('/a'));
      await service.listen(receiver.url('/b'));
      await database.query(`UPDATE webhooks SET positions = '${positions}' WHERE id = '${id}'`);
      await service.create(1);
      await expectIds('/b', 1);
      const reason = { pausedReason: 'position-unknown' };
      await eventually(async () => expect(await service.find(id)).toMatchObject(reason));
      expect(receiver.of('/a')).toEqual([]);
      await service.send('POST', `/webhooks/${id}/resume`, { from: 'newest' });
      await service.create(2);
      await expectIds('/a', 2);
    },
  );

  it('that is paused with positions that are no object stops no other, and keeps them', async () => {
    const service = await start();
    const { id } = await service.listen(receiver.url('/a'));
    await service.listen(receiver.url('/b'));
    await database.query(
      `UPDATE webhooks SET positions = '[]', paused_at = now() WHERE id = '${id}'`,
    );
    await eventually(async () => expect(await service.metrics()).toContain('webhooks_paused 1'));
    await service.create(1);
    await expectIds('/b', 1);
    const [row] = await database.query(`SELECT positions FROM webhooks WHERE id = '${id}'`);
    expect(row).toEqual({ positions: [] });
  });

  it('waits when its secret cannot be decrypted, until it has a new one', async () => {
    const service = await start();
    const { id } = await service.listen(receiver.url());
    running.delete(service);
    await service.stop();
    const other = await start({
      ...ENVIRONMENT,
      WEBHOOK_SECRET_KEY: Buffer.alloc(32, 8).toString('base64'),
    });
    await other.create(1);
    await eventually(async () =>
      expect(await stored()).toMatchObject({
        last_error: 'Another key has encrypted the secret of a webhook.',
      }),
    );
    expect(receiver.received).toEqual([]);
    const { body } = await other.send('POST', `/webhooks/${id}/rotate-secret`);
    await other.send('POST', `/webhooks/${id}/resume`, { from: 'stopped' });
    await expectIds('/', 1);
    expect(isSigned(receiver.received[0]!, String(body['secret']))).toBe(true);
  });

  it('is late while the key is missing, and gets the change when it is back', async () => {
    const service = await start();
    await service.listen(receiver.url());
    running.delete(service);
    await service.stop();
    const other = await start({});
    await other.create(1);
    await eventually(async () =>
      expect(await other.metrics()).toMatch(/webhook_lag_seconds [\d.]*[1-9]/),
    );
    expect(receiver.received).toEqual([]);
    await start();
    await expectIds('/', 1);
  });
});
