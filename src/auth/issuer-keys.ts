import type { OnModuleDestroy } from '@nestjs/common';
import { createLocalJWKSet } from 'jose';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { JwtConfig } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { describeFailure } from '../observability/describe-failure.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Metrics } from '../observability/metrics.js';
import { discover, endpointOf, readDocument } from './discovery.js';
import type { Principal } from './principal.js';

/** Timeouts and intervals of requests to the issuer, in milliseconds. */
export const ISSUER_TIMES = {
  /** For an answer of the issuer. */
  timeout: 3_000,
  /** Between two fetches of the keys, so that a withdrawn key stops working. */
  refresh: 600_000,
  /** Between two fetches during an outage of the issuer. */
  retry: 10_000,
  /** Maximum age of the keys, during an outage of the issuer. Most tokens expire earlier. */
  maxAge: 3_600_000,
  /** Between two fetches because of unknown keys. Anybody can send unknown keys, and must not flood the issuer. */
  betweenRefetches: 5_000,
  /** Between a failed fetch and the next. */
  afterFailure: 1_000,
} as const;

export type IssuerTimes = Readonly<Record<keyof typeof ISSUER_TIMES, number>>;

/** Maximum number of remembered tokens. */
const MAX_REMEMBERED = 10_000;

/** The keys of a fetch. */
export interface KeySet {
  readonly find: JWTVerifyGetKey;
  readonly fetchedAt: number;
  /** The tokens that the only verifier of these keys has accepted, by their digest. `expires` is the claim `exp`. */
  readonly remembered: LRUCache<
    string,
    { readonly principal: Principal; readonly expires: number }
  >;
}

/**
 * The issuer's public keys (RFC 7517): fetched at first use, then refreshed in the background. During an outage of the
 * issuer they stay in use for a bounded time (like `stale-if-error`, RFC 5861, section 4).
 */
export class IssuerKeys implements OnModuleDestroy {
  private keys: KeySet | undefined;
  private jwksUri: URL | undefined;
  private fetching: Promise<KeySet> | undefined;
  private nextFetch: NodeJS.Timeout | undefined;
  private lastRefetch = -Infinity;
  /** When the last fetch failed. `undefined`: it did not. */
  private failedAt: number | undefined;
  private isClosed = false;

  constructor(
    private readonly config: Pick<JwtConfig, 'issuer' | 'jwksUri'>,
    private readonly logger: Logger,
    metrics: Metrics,
    private readonly times: IssuerTimes = ISSUER_TIMES,
  ) {
    const name = 'plant_store_token_issuer';
    metrics.gauge(`${name}_up`, 'Whether the last fetch of the keys succeeded.', () =>
      Number(this.failedAt === undefined),
    );
    metrics.gauge(`${name}_keys_age_seconds`, 'Age of the keys.', () =>
      this.keys === undefined ? NaN : (Date.now() - this.keys.fetchedAt) / 1_000,
    );
  }

  /** The keys, unless they exceed their maximum age. */
  get current(): KeySet | undefined {
    const { keys } = this;
    return keys && Date.now() - keys.fetchedAt < this.times.maxAge ? keys : undefined;
  }

  /**
   * The keys, fetched if there are none.
   *
   * @throws PlantStoreError `token-issuer-unavailable` when the keys cannot be fetched
   */
  async get(): Promise<KeySet> {
    return this.current ?? (await this.fetch());
  }

  /**
   * Fetches the keys for a token whose key is not among them, unless they were fetched for that reason just now.
   *
   * @throws PlantStoreError `token-issuer-unavailable` when the keys cannot be fetched
   */
  async newer(): Promise<KeySet | undefined> {
    return this.mayRefetch() ? this.fetch() : undefined;
  }

  onModuleDestroy(): void {
    this.isClosed = true;
    clearTimeout(this.nextFetch);
  }

  /** Fetches the keys. Concurrent callers share a fetch. */
  private fetch(): Promise<KeySet> {
    this.fetching ??= this.refresh().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async refresh(): Promise<KeySet> {
    const pauseEnd = (this.failedAt ?? -Infinity) + this.times.afterFailure;
    if (performance.now() < pauseEnd) throw unavailable();
    try {
      this.keys = await this.download();
      if (this.failedAt !== undefined) this.logger.info('the token issuer is available again');
      this.failedAt = undefined;
      return this.keys;
    } catch (error) {
      if (this.failedAt === undefined) {
        this.logger.warn({ reason: describeFailure(error) }, 'the token issuer is unavailable');
      }
      this.failedAt = performance.now();
      // The next fetch repeats the discovery, because the URL of the keys may have changed.
      this.jwksUri = undefined;
      throw unavailable();
    } finally {
      this.scheduleFetch();
    }
  }

  private scheduleFetch(): void {
    clearTimeout(this.nextFetch);
    // Without keys, the next token triggers a fetch.
    if (this.isClosed || this.keys === undefined) return;
    const delay = this.failedAt === undefined ? this.times.refresh : this.times.retry;
    this.nextFetch = setTimeout(() => void this.fetch().catch(() => {}), delay).unref();
  }

  private async download(): Promise<KeySet> {
    this.jwksUri ??= this.config.jwksUri ?? (await this.discoverKeys());
    const keys = (await readDocument(this.jwksUri, this.times.timeout)) as JSONWebKeySet;
    return {
      find: createLocalJWKSet(keys),
      fetchedAt: Date.now(),
      remembered: new LRUCache({ max: MAX_REMEMBERED }),
    };
  }

  private async discoverKeys(): Promise<URL> {
    const provider = await discover(this.config.issuer, this.times.timeout);
    return endpointOf(provider, 'jwks_uri');
  }

  /** Whether the keys may be fetched again because of an unknown key. */
  private mayRefetch(): boolean {
    // Joining a running fetch costs the issuer nothing. After a failure, the cached keys may be outdated.
    if (this.fetching !== undefined || this.failedAt !== undefined) return true;
    const now = performance.now();
    if (now - this.lastRefetch < this.times.betweenRefetches) return false;
    this.lastRefetch = now;
    return true;
  }
}

function unavailable(): PlantStoreError {
  return new PlantStoreError(ERRORS.tokenIssuerUnavailable);
}
