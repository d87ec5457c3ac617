import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import type { EntityManager } from 'typeorm';
import {
  Health,
  Metrics,
  StartupError,
  Statements,
  Transactions,
} from '@resource-service/framework';
import { LOGGER } from '@resource-service/framework/extension';
import type { Feed } from '../feed/feed.js';
import type { RecordedChange } from '../feed/recorded-change.js';
import { Consumer } from './consumer.js';
import type { ConsumerParts } from './consumer.js';
import { handlersOf } from './handlers.js';
import type { DeclaredHandler } from './handlers.js';

type Observed = Pick<Consumer, 'lag' | 'obstacle'>;

const NONE: Observed = { lag: 0, obstacle: undefined };

interface BaseOptions {
  /** Unique in the service. */
  readonly name: string;
  /** `changes` of a repository. */
  readonly feed: Feed;
  /** Where a new consumer begins, by default after the newest change. */
  readonly from?: 'newest' | 'oldest' | undefined;
}

export type ConsumerOptions = BaseOptions &
  (
    | {
        /** Gets a signal that aborts when another replica may take over. */
        readonly handle: (change: RecordedChange, signal: AbortSignal) => unknown;
      }
    | {
        /** Changes the database in the transaction that stores the position: each change has its effects exactly once. */
        readonly handleIn: (change: RecordedChange, manager: EntityManager) => unknown;
      }
  );

/** Runs the methods with `@OnChange()`, and other consumers of changes. */
@Injectable()
export class ChangeConsumers implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly consumers = new Map<string, Consumer>();
  private readonly observed = new Set<string>();
  private readonly holder = `${hostname()} ${process.pid} ${randomUUID()}`;
  private readonly countError: (consumer: string, by?: number) => void;

  constructor(
    private readonly dataSource: DataSource,
    private readonly statements: Statements,
    private readonly transactions: Transactions,
    private readonly metrics: Metrics,
    private readonly health: Health,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModuleRef,
  ) {
    this.countError = metrics.counter<string>(
      metrics.named('change_consumer_errors_total'),
      'Attempts to handle a change that have failed.',
      'consumer',
      [],
    );
  }

  /** @throws StartupError if two have one name */
  async onApplicationBootstrap(): Promise<void> {
    // Documents are written without a database.
    if (!this.dataSource.isInitialized) return;
    const found = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    // An alias has the instance of another provider.
    for (const instance of new Set(found.map((wrapper) => wrapper.instance as unknown))) {
      if (typeof instance !== 'object' || instance === null) continue;
      for (const handler of handlersOf(instance.constructor)) this.startHandler(instance, handler);
    }
    await Promise.all([...this.consumers.values()].map(({ begun }) => begun));
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.consumers.values()].map((consumer) => consumer.stop()));
  }

  /**
   * Starts a consumer.
   *
   * @returns stops it, within 3 s
   * @throws StartupError for a name that another one has
   */
  start(options: ConsumerOptions): () => Promise<void> {
    const { name, feed, from = 'newest' } = options;
    if (this.consumers.has(name)) {
      throw new StartupError(
        `two consumers of changes have the name ${name}: give one another name`,
      );
    }
    const perform: ConsumerParts['perform'] =
      'handle' in options
        ? async (change, lease) => {
            await options.handle(change, lease.signal);
            await lease.store(change.position);
          }
        : (change, lease) =>
            this.transactions.run(async (manager) => {
              await options.handleIn(change, manager);
              await lease.store(change.position, this.statements.in(manager));
            });
    this.observe(name);
    const onError = (): void => this.countError(name);
    const { statements, logger, holder } = this;
    const consumer = new Consumer({
      name,
      holder,
      feed,
      from,
      perform,
      statements,
      logger,
      onError,
    });
    this.consumers.set(name, consumer);
    return async () => {
      await consumer.stop();
      this.consumers.delete(name);
    };
  }

  private startHandler(instance: object, handler: DeclaredHandler): void {
    const { repository, method, from, transaction } = handler;
    const name = handler.name ?? `${instance.constructor.name}.${method}`;
    const { changes: feed } = this.modules.get(repository, { strict: false });
    const call = (change: RecordedChange, second: EntityManager | AbortSignal): unknown =>
      (instance as Record<string, (...parts: unknown[]) => unknown>)[method]!(change, second);
    this.start({
      name,
      feed,
      from,
      ...(transaction === true ? { handleIn: call } : { handle: call }),
    });
  }

  private observe(consumer: string): void {
    if (this.observed.size === 0) this.health.add('change-consumers', () => this.requireProgress());
    // One that is started again has its metrics already.
    if (this.observed.has(consumer)) return;
    this.observed.add(consumer);
    this.countError(consumer, 0);
    const gauge = (name: string, help: string, read: (of: Observed) => number): void => {
      const value = () => read(this.consumers.get(consumer) ?? NONE);
      this.metrics.gauge(this.metrics.named(`change_consumer_${name}`), help, value, { consumer });
    };
    gauge(
      'lag_seconds',
      'Age of the first change that this replica has not handled.',
      ({ lag }) => lag,
    );
    gauge(
      'lost',
      'Whether changes may be missing, and an operator must decide how to go on.',
      (of) => Number(of.obstacle?.isLost === true),
    );
  }

  /** @throws Error if a consumer cannot go on */
  private requireProgress(): void {
    const reasons = [...this.consumers].flatMap(([name, { obstacle }]) =>
      obstacle === undefined ? [] : `${name}: ${obstacle.reason}`,
    );
    if (reasons.length > 0) throw new Error(reasons.join('; '));
  }
}
