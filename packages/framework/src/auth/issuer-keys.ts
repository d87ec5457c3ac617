import type { OnModuleDestroy } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, jwksCache } from 'jose';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import type { JwtConfig } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { describeError } from '../observability/describe-error.js';
import { ServiceException } from '../errors/service.exception.js';
import type { Metrics } from '../observability/metrics.js';
import { discover, endpointOf, fetchDocument } from './discovery.js';

/** In milliseconds. */
export const ISSUER_TIMES = {
  /** For all responses of the issuer in one fetch. */
  timeout: 3_000,
  /** Between two fetches of the keys, so that a withdrawn key stops working. */
  refresh: 600_000,
  /** Between two fetches during an outage of the issuer. */
  retry: 10_000,
  /** Maximum age of the keys, during an outage of the issuer. Most tokens expire earlier. */
  maxAge: 3_600_000,
  /** Between two fetches because of unknown keys, which anybody can send to flood the issuer. */
  betweenRefetches: 5_000,
  /** Between a failed fetch and the next. */
  afterError: 1_000,
} as const;

export type IssuerTimes = Readonly<Record<keyof typeof ISSUER_TIMES, number>>;

/**
 * The issuer's public keys (RFC 7517): fetched at first use, then refreshed in the background. During an outage of
 * the issuer they stay in use for a bounded time (like `stale-if-error`, RFC 5861, section 4).
 *
 * The library fetches only on demand here: by itself, it would ask a failing issuer for each token, and would not
 * look for a new key within the first seconds of the others.
 */
export class IssuerKeys implements OnModuleDestroy {
  /** The library replaces the properties at each fetch. */
  private readonly cache: { jwks?: JSONWebKeySet; uat?: number } = {};
  private readonly set: ReturnType<typeof createRemoteJWKSet>;
  private jwksUri: URL | undefined;
  private nextFetch: NodeJS.Timeout | undefined;
  private lastRefetch = -Infinity;
  /** `undefined`: the last fetch succeeded. */
  private failedAt: number | undefined;
  private isClosed = false;

  constructor(
    private readonly config: Pick<JwtConfig, 'issuer' | 'jwksUri'>,
    private readonly logger: Logger,
    metrics: Metrics,
    private readonly times: IssuerTimes = ISSUER_TIMES,
  ) {
    this.set = createRemoteJWKSet(new URL(config.issuer), {
      timeoutDuration: times.timeout,
      cacheMaxAge: times.maxAge,
      cooldownDuration: Infinity,
      [jwksCache]: this.cache as Record<string, never>,
      [customFetch]: (_issuer, { signal }) => this.download(signal),
    });
    const name = metrics.named('token_issuer');
    metrics.gauge(`${name}_up`, 'Whether the last fetch of the keys succeeded.', () =>
      Number(this.failedAt === undefined),
    );
    metrics.gauge(
      `${name}_keys_age_seconds`,
      'Age of the keys.',
      () => (Date.now() - (this.cache.uat ?? NaN)) / 1_000,
    );
  }

  /** The keys, another object after each fetch. `undefined`: there are none, or they exceed their maximum age. */
  get current(): object | undefined {
    return this.set.fresh ? this.cache.jwks : undefined;
  }

  get find(): JWTVerifyGetKey {
    return this.set;
  }

  /** @throws ServiceException `token-issuer-unavailable` when there are no keys, and they cannot be fetched */
  async load(): Promise<void> {
    if (!this.set.fresh) await this.fetch();
  }

  /**
   * Fetches the keys for a token whose key is not among them, unless they were fetched for that reason just now.
   *
   * @returns whether they were fetched
   * @throws ServiceException `token-issuer-unavailable` when the keys cannot be fetched
   */
  async renew(): Promise<boolean> {
    // Joining a running fetch costs the issuer nothing. After an error, the cached keys may be outdated.
    if (!this.set.reloading && this.failedAt === undefined) {
      const now = performance.now();
      if (now - this.lastRefetch < this.times.betweenRefetches) return false;
      this.lastRefetch = now;
    }
    await this.fetch();
    return true;
  }

  onModuleDestroy(): void {
    this.isClosed = true;
    clearTimeout(this.nextFetch);
  }

  /** Concurrent callers share a fetch. */
  private async fetch(): Promise<void> {
    const pauseEnd = (this.failedAt ?? -Infinity) + this.times.afterError;
    if (performance.now() < pauseEnd) throw new ServiceException(ERRORS.tokenIssuerUnavailable);
    try {
      await this.set.reload();
      if (this.failedAt !== undefined) this.logger.info('the token issuer is available again');
      this.failedAt = undefined;
    } catch (error) {
      if (this.failedAt === undefined) {
        this.logger.warn({ reason: describeError(error) }, 'the token issuer is unavailable');
      }
      this.failedAt = performance.now();
      // The next fetch repeats the discovery, because the URL of the keys may have changed.
      this.jwksUri = undefined;
      throw new ServiceException(ERRORS.tokenIssuerUnavailable);
    } finally {
      this.scheduleFetch();
    }
  }

  private scheduleFetch(): void {
    clearTimeout(this.nextFetch);
    // Without keys, the next token triggers a fetch.
    if (this.isClosed || this.cache.jwks === undefined) return;
    const delay = this.failedAt === undefined ? this.times.refresh : this.times.retry;
    this.nextFetch = setTimeout(() => void this.fetch().catch(() => {}), delay).unref();
  }

  private async download(signal: AbortSignal): Promise<Response> {
    this.jwksUri ??=
      this.config.jwksUri ?? endpointOf(await discover(this.config.issuer, signal), 'jwks_uri');
    return fetchDocument(this.jwksUri, signal);
  }
}
