import { describe, expect, it } from 'vitest';
import { MissingChanges, PublishedFeed } from '../../changes/src/index.js';
import type { Feed, RecordedChange } from '../../changes/src/index.js';
import { ERRORS, ServiceException } from '../../framework/src/index.js';
import { WebhookFeeds } from '../src/delivery/webhook-feeds.js';

const TIME = new Date('2026-11-28T10:00:00.000Z');

/** The oldest change after position 1 of a service with the resource `tool`. */
function oldestOf(next: () => Promise<readonly unknown[]>): Promise<number | undefined> {
  const instance = new PublishedFeed({ next } as unknown as Feed, { property: 'tool' } as never);
  const feeds = new WebhookFeeds({ getProviders: () => [{ instance }] } as never);
  return feeds.oldestAfter({ tool: '1', gone: '1' });
}

describe('the names of feeds', () => {
  const startWith = (...names: readonly string[]) => {
    const providers = names.map((property) => ({
      instance: new PublishedFeed({} as Feed, { property } as never),
    }));
    new WebhookFeeds({ getProviders: () => providers } as never).onModuleInit();
  };

  it('are different, or the service does not start', () => {
    startWith('tool', 'loan');
    expect(() => startWith('tool', 'loan', 'tool', 'tool')).toThrow(
      'webhooks need another `property` for each feed: several have tool',
    );
  });
});

describe('the oldest change that a webhook has not got', () => {
  it('has a time, if there is one', async () => {
    const change: Pick<RecordedChange, 'time'> = { time: TIME };
    expect(await oldestOf(() => Promise.resolve([change]))).toBe(TIME.getTime());
    expect(await oldestOf(() => Promise.resolve([]))).toBeUndefined();
  });

  it('is none of those that are missing, because of which the webhook is paused', async () => {
    const missing = new MissingChanges('pruned', 'changes are no longer kept');
    expect(await oldestOf(() => Promise.reject(missing))).toBeUndefined();
  });

  it('is not known during an outage', async () => {
    const outage = new ServiceException(ERRORS.poolExhausted);
    await expect(oldestOf(() => Promise.reject(outage))).rejects.toBe(outage);
  });
});
