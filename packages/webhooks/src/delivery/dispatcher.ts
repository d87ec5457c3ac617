import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { Metrics, ServiceException } from '@resource-service/framework';
import { describeError, LOGGER } from '@resource-service/framework/extension';
import type { Outcome } from '../outgoing/outcome.js';
import { OUTCOMES } from '../webhook-delivery.entity.js';
import { Clock } from './clock.js';
import { Courier } from './courier.js';
import { LeaseTime } from './lease-time.js';
import { Pace } from './pace.js';
import { Turn } from './turn.js';
import type { Lane } from './turn.js';
import { WebhookFeeds } from './webhook-feeds.js';
import { LEASE, WebhookRows } from './webhook-rows.js';
import type { ClaimedWebhook, Figures } from './webhook-rows.js';
import type { Positions } from './webhook-feeds.js';

/** In milliseconds. */
const TIMES = { tick: 250, shutdown: 3_000 } as const;

/** How many webhooks are claimed at once, so that at most so many statements in a second store their positions. */
const MAX_CLAIMED = 50;

/**
 * How many are served at once, each with a connection and a read of up to 1 MiB. Those that fail or respond slowly have lanes of their own,
 * so that they delay no other.
 */
export const LANES: Readonly<Record<Lane, number>> = { quick: 64, slow: 128 };

const UNKNOWN: Figures = { active: 0, paused: 0, positions: {} };

/** Serves the webhooks that miss changes, with one timer for all of them. */
@Injectable()
export class Dispatcher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly turns = new Map<Turn, Promise<void>>();
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private figures = UNKNOWN;
  /** The time of the oldest change that an active webhook has not got. */
  private waitingSince: number | undefined;
  private reported: string | undefined;
  private readonly count: (outcome: Outcome['kind']) => void;
  private readonly pace = new Pace();
  private leases = new LeaseTime();
  private deadline: NodeJS.Timeout | undefined;

  constructor(
    private readonly rows: WebhookRows,
    private readonly feeds: WebhookFeeds,
    private readonly courier: Courier,
    private readonly clock: Clock,
    private readonly dataSource: DataSource,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.count = metrics.counter(
      metrics.named('webhook_deliveries_total'),
      'Attempts to send a message to a webhook, by outcome.',
      'outcome',
      OUTCOMES,
    );
    const gauge = (name: string, help: string, read: () => number): void =>
      metrics.gauge(metrics.named(name), help, read);
    gauge(
      'webhook_lag_seconds',
      'Age of the oldest change that an active webhook has not got.',
      () => this.lag,
    );
    gauge(
      'webhooks_paused',
      'Webhooks that get no messages until somebody resumes them.',
      () => this.figures.paused,
    );
  }

  async onApplicationBootstrap(): Promise<void> {
    // Documents are written without a database.
    if (!this.dataSource.isInitialized) return;
    if (this.courier.isConfigured || (await this.lacksKey())) this.running = this.run();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    this.stopTurns();
    const ended = new AbortController();
    const { signal } = ended;
    await Promise.race([
      this.running.then(() => Promise.all(this.turns.values())),
      sleep(TIMES.shutdown, undefined, { signal, ref: false }).catch(() => {}),
    ]);
    ended.abort();
    clearTimeout(this.deadline);
    await this.courier.close();
  }

  /** There is a new webhook, or one that goes on. */
  wake(): void {
    this.figures = { ...this.figures, active: Math.max(this.figures.active, 1) };
  }

  /** In seconds. */
  private get lag(): number {
    const { waitingSince } = this;
    return waitingSince === undefined ? 0 : Math.max(0, Date.now() - waitingSince) / 1_000;
  }

  /** Whether webhooks wait for a key that is missing. They are counted, and get late. */
  private async lacksKey(): Promise<boolean> {
    try {
      const { active } = await this.rows.figures();
      if (active === 0) return false;
      const text = 'webhooks get no messages: WEBHOOK_SECRET_KEY is missing';
      this.logger.error({ event: 'webhook', active }, text);
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    let checkedAt = -Infinity;
    while (!signal.aborted) {
      try {
        if (performance.now() - checkedAt >= LEASE.renewal) {
          await this.check();
          checkedAt = performance.now();
        }
        this.moveSlow();
        if (this.figures.active > 0 && this.courier.isConfigured) await this.claim();
        this.reported = undefined;
      } catch (error) {
        this.report(error);
      }
      await sleep(TIMES.tick, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  private async check(): Promise<void> {
    const turns = [...this.turns.keys()];
    if (turns.length > 0) {
      const renewed = new LeaseTime();
      const kept = await this.rows.renew(turns.map(({ webhook }) => webhook.id));
      this.extend(renewed);
      for (const turn of turns) if (!kept.has(turn.webhook.id)) turn.stop();
    }
    this.figures = await this.rows.figures();
    const { active, paused, positions } = this.figures;
    // After an error, of which the next claim tells, what is known stays: the age of a change that waits grows.
    this.waitingSince = await this.feeds.oldestAfter(positions).catch(() => this.waitingSince);
    if (active + paused === 0) return;
    // Fails as long as changes are not recorded: then there is nothing to begin with, and nothing to repeat the check for at each tick.
    const latest = await this.feeds.latest().catch(() => undefined);
    if (latest !== undefined) await this.rows.begin(latest);
  }

  /** Lets quick ones go on where a slow one was. */
  private moveSlow(): void {
    for (const turn of this.turns.keys()) {
      if (turn.lane === 'slow' || !turn.isSlow) continue;
      if (this.freeIn('slow') > 0) turn.lane = 'slow';
      else turn.giveUp();
    }
  }

  private async claim(): Promise<void> {
    const latest = await this.feeds.latest();
    for (const lane of ['quick', 'slow'] as const) {
      const limit = Math.min(this.freeIn(lane), MAX_CLAIMED, this.pace.budget);
      if (limit <= 0) continue;
      if (this.turns.size === 0) this.extend(new LeaseTime());
      const claimed = await this.rows.claim(latest, lane === 'slow', this.clock.now(), limit);
      for (const webhook of claimed) this.start(webhook, latest, lane);
    }
  }

  private start(webhook: ClaimedWebhook, latest: Positions, lane: Lane): void {
    const { feeds, courier, clock, count } = this;
    const turn = new Turn(webhook, latest, lane, {
      feeds,
      pace: () => this.pace.next(),
      isLeased: () => this.leases.left > 0,
      send: (...message) => courier.send(...message),
      count,
      now: () => clock.now(),
    });
    this.turns.set(turn, this.serve(turn));
    if (this.stopping.signal.aborted) turn.stop();
  }

  private async serve(turn: Turn): Promise<void> {
    try {
      const served = await turn.run();
      const { id } = turn.webhook;
      await this.rows.release(id, served);
      const { pausedReason: reason, lastError } = served;
      if (reason !== undefined) {
        this.logger.warn(
          { event: 'webhook', webhook: id, reason, lastError },
          'a webhook is paused',
        );
      }
      if (turn.error !== undefined) throw turn.error;
    } catch (error) {
      this.report(error);
    } finally {
      this.turns.delete(turn);
    }
  }

  private extend(leases: LeaseTime): void {
    this.leases = leases;
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => this.stopTurns(), leases.left).unref();
  }

  private freeIn(lane: Lane): number {
    return LANES[lane] - [...this.turns.keys()].filter((turn) => turn.lane === lane).length;
  }

  private stopTurns(): void {
    for (const turn of this.turns.keys()) turn.stop();
  }

  /** Once, while it lasts. The pool reports outages. */
  private report(error: unknown): void {
    const reason = describeError(error);
    if (error instanceof ServiceException || reason === this.reported) return;
    this.reported = reason;
    this.logger.error({ event: 'webhook', err: error }, 'webhooks cannot be served');
  }
}
