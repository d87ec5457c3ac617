import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { ERRORS, Metrics, ServiceException } from '../../framework/src/index.js';
import { createLogger } from '../../framework/src/observability/logger.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { Clock } from '../src/delivery/clock.js';
import { Dispatcher } from '../src/delivery/dispatcher.js';
import type { WebhookFeeds } from '../src/delivery/webhook-feeds.js';
import type { WebhookRows } from '../src/delivery/webhook-rows.js';

/** Less than between two checks, and more than between several ticks. */
const MOMENT = 700;

/** Runs the dispatcher of a service with an active webhook and a paused one for a moment. */
async function run(isConfigured: boolean, latest: WebhookFeeds['latest']) {
  const log: unknown[] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  const figures = vi.fn<WebhookRows['figures']>(() =>
    Promise.resolve({ active: 1, paused: 1, positions: {} }),
  );
  const begin = vi.fn<WebhookRows['begin']>(() => Promise.resolve());
  const dispatcher = new Dispatcher(
    { figures, begin, claim: () => Promise.resolve([]) } as never,
    { latest, oldestAfter: () => Promise.resolve(undefined) } as never,
    { isConfigured, close: () => Promise.resolve() } as never,
    new Clock(),
    { isInitialized: true } as never,
    createLogger('info', { write }),
    new Metrics(IDENTITY),
  );
  await dispatcher.onApplicationBootstrap();
  await sleep(MOMENT);
  await dispatcher.onModuleDestroy();
  return { log, figures, begin };
}

it('the log says that webhooks wait for a key that is missing', async () => {
  const { log } = await run(false, () => Promise.resolve({ tool: '1' }));
  expect(log).toMatchObject([
    { event: 'webhook', active: 1, msg: 'webhooks get no messages: WEBHOOK_SECRET_KEY is missing' },
  ]);
});

it('webhooks are counted as seldom while changes are not recorded, and begin with nothing', async () => {
  const recorded = await run(true, () => Promise.resolve({ tool: '1' }));
  expect(recorded.figures).toHaveBeenCalledTimes(1);
  expect(recorded.begin.mock.calls).toEqual([[{ tool: '1' }]]);
  const { log, figures, begin } = await run(true, () =>
    Promise.reject(new ServiceException(ERRORS.noSuchPath)),
  );
  expect(figures).toHaveBeenCalledTimes(1);
  expect(begin).not.toHaveBeenCalled();
  expect(log).toEqual([]);
});
