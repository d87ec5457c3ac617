import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { PublishedFeed } from '@resource-service/changes';
import type { Feed, RecordedChange } from '@resource-service/changes';
import { StartupError } from '@resource-service/framework';
import { pauseReasonOf } from './pause-reason.js';
import { SharedReads } from './shared-reads.js';

/** The newest position of each resource, as text. */
export type Positions = Readonly<Record<string, string>>;

/** The feeds that clients can read, by the name of the resource in `type`. */
@Injectable()
export class WebhookFeeds implements OnModuleInit {
  private known: ReadonlyMap<string, SharedReads> | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws StartupError if two feeds have one name: the changes of one of them would not be sent */
  onModuleInit(): void {
    const names = this.published.map(({ docs }) => docs.property);
    const repeated = names.filter((name, at) => names.indexOf(name) !== at);
    if (repeated.length === 0) return;
    throw new StartupError(
      `webhooks need another \`property\` for each feed: several have ${[...new Set(repeated)].join(', ')}`,
    );
  }

  get published(): readonly PublishedFeed[] {
    const instances = this.discovery.getProviders().map(({ instance }) => instance as unknown);
    return instances.filter((instance) => instance instanceof PublishedFeed);
  }

  get names(): readonly string[] {
    return [...this.all.keys()];
  }

  /** @throws ServiceException as after any error of the database */
  latest(): Promise<Positions> {
    return this.positions((feed) => feed.latest());
  }

  /** The positions before the oldest changes that are left. */
  oldest(): Promise<Positions> {
    return this.positions((feed) => feed.oldest());
  }

  /** The next changes after a position, at once. */
  next(resource: string, position: bigint): Promise<readonly RecordedChange[]> {
    return this.all.get(resource)!.next(position);
  }

  /**
   * The time of the oldest change after positions, in milliseconds as of `Date.now()`; `undefined` if there is none.
   *
   * @throws ServiceException as after any error of the database
   */
  async oldestAfter(positions: Positions): Promise<number | undefined> {
    const next = { limit: 1, wait: 0, signal: AbortSignal.abort() };
    const found = Object.entries(positions).map(async ([resource, position]) => {
      try {
        return (await this.all.get(resource)?.feed.next(BigInt(position), next)) ?? [];
      } catch (error) {
        // If changes are missing there, the turn of the webhook pauses it.
        if (pauseReasonOf(error) === undefined) throw error;
        return [];
      }
    });
    const times = (await Promise.all(found)).flat().map(({ time }) => time.getTime());
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The change of a message; `undefined` if it is no longer kept, or the message is of no change. */
  async find(resource: string, messageId: string): Promise<RecordedChange | undefined> {
    const [, position] = /_(\d+)$/.exec(messageId) ?? [];
    const reads = this.all.get(resource);
    return position === undefined ? undefined : reads?.feed.find(BigInt(position));
  }

  private async positions(read: (feed: Feed) => Promise<bigint>): Promise<Positions> {
    const found = [...this.all].map(
      async ([name, { feed }]) => [name, String(await read(feed))] as const,
    );
    return Object.fromEntries(await Promise.all(found));
  }

  /** Known when all providers are made. */
  private get all(): ReadonlyMap<string, SharedReads> {
    const feeds = () =>
      this.published.map(({ feed, docs }) => [docs.property, new SharedReads(feed)] as const);
    return (this.known ??= new Map(feeds()));
  }
}
