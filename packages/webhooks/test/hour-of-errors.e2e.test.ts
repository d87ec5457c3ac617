import { expect, it, onTestFinished, vi } from 'vitest';
import { PATIENCE } from '../../framework/test/support/patience.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import { Clock } from '../src/delivery/clock.js';
import { accept, Receiver, status } from './support/receiver.js';
import { WebhookService } from './support/webhook-service.js';

it('an address gets all in order after an hour of errors, and few attempts until then', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const service = await WebhookService.start(database);
  onTestFinished(() => service.stop());
  let now = Date.now();
  vi.spyOn(service.service.get(Clock), 'now').mockImplementation(() => now);
  const end = now + 3_600_000;

  await service.listen(receiver.url());
  receiver.respond = status(500);
  await service.create(1, 2, 3);
  let attempts = 0;
  while (now < end) {
    attempts += 1;
    const next = await vi.waitFor(async () => {
      const [webhook] = await database.query('SELECT * FROM webhooks');
      expect(webhook).toMatchObject({ attempts, holder: null });
      return (webhook!['next_attempt_at'] as Date).getTime();
    }, PATIENCE);
    if (next >= end) receiver.respond = accept;
    now = next;
  }
  const ids = [...Array<number>(attempts).fill(1), 1, 2, 3];
  await vi.waitFor(() => expect(receiver.idsOf()).toEqual(ids), PATIENCE);
  expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(3);
  // Pauses double from 5 s, and are shortened by up to a half.
  expect([10, 11]).toContain(attempts);
});
