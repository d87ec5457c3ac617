import { createRemoteJWKSet, customFetch, errors } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import type { JwtConfig } from '../config/config.js';
import { secureUrl } from '../config/variable-parsers.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { fetchDocument } from './fetch-document.js';

/** Timeouts and intervals of requests to the issuer, in milliseconds. */
export const ISSUER_TIMES = {
  /** For an answer of the issuer. */
  timeout: 3_000,
  /** Until cached keys are fetched again. */
  maxAge: 600_000,
  /** Between two fetches because of unknown keys. Anybody can send unknown keys, and must not flood the issuer. */
  betweenRefetches: 5_000,
  /** Between a failed fetch and the next. */
  afterFailure: 1_000,
} as const;

export type IssuerTimes = Readonly<Record<keyof typeof ISSUER_TIMES, number>>;

type RemoteKeySet = ReturnType<typeof createRemoteJWKSet>;

/** The issuer's public keys (RFC 7517): fetched at first use, cached, and fetched again after a key rotation. */
export class IssuerKeys {
  private opened: Promise<RemoteKeySet> | undefined;
  private lastRefetch = -Infinity;
  private lastFailure = -Infinity;
  private failing = false;

  constructor(
    private readonly config: Pick<JwtConfig, 'issuer' | 'jwksUri'>,
    private readonly times: IssuerTimes = ISSUER_TIMES,
  ) {}

  /**
   * Finds the key that a token names.
   *
   * @throws PlantStoreError `token-issuer-unavailable` when the keys cannot be fetched
   * @throws JOSEError when the issuer has no such key
   */
  readonly resolve: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.freshKeys();
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!this.mayRefetch(keys)) throw error;
    }
    await this.fetch(() => keys.reload());
    return await keys(header, token);
  };

  private async freshKeys(): Promise<RemoteKeySet> {
    const opening = (this.opened ??= this.fetch(() => this.open()));
    try {
      const keys = await opening;
      if (!keys.fresh) await this.fetch(() => keys.reload());
      return keys;
    } catch (error) {
      // The next call repeats the discovery, because the URL of the keys may have changed.
      if (this.opened === opening) this.opened = undefined;
      throw error;
    }
  }

  private async open(): Promise<RemoteKeySet> {
    return createRemoteJWKSet(this.config.jwksUri ?? (await this.discover()), {
      [customFetch]: (url, { headers }) =>
        fetchDocument(new URL(url), this.times.timeout, Object.fromEntries(headers)),
      cacheMaxAge: this.times.maxAge,
      // Turns off the library's own refetch for unknown keys, which does not work right after a fetch.
      cooldownDuration: Infinity,
    });
  }

  /** OpenID Connect Discovery 1.0, section 4. */
  private async discover(): Promise<URL> {
    const { issuer } = this.config;
    const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const response = await fetchDocument(url, this.times.timeout);
    if (!response.ok) throw new Error(`the discovery document has status ${response.status}`);
    const document = (await response.json()) as DiscoveryDocument | null;
    const jwksUri =
      typeof document?.jwks_uri === 'string' ? secureUrl(document.jwks_uri) : undefined;
    if (document?.issuer !== issuer || jwksUri === undefined) {
      throw new Error('the discovery document has a different issuer or no secure jwks_uri');
    }
    return jwksUri;
  }

  private async fetch<T>(request: () => Promise<T>): Promise<T> {
    if (performance.now() - this.lastFailure < this.times.afterFailure) throw unavailable();
    try {
      const answer = await request();
      this.failing = false;
      return answer;
    } catch (cause) {
      this.failing = true;
      this.lastFailure = performance.now();
      throw unavailable(cause);
    }
  }

  /** Whether the keys may be fetched again because of an unknown key. */
  private mayRefetch(keys: RemoteKeySet): boolean {
    // Joining a running fetch costs the issuer nothing. After a failure, the cached keys may be outdated.
    if (keys.reloading || this.failing) return true;
    const now = performance.now();
    if (now - this.lastRefetch < this.times.betweenRefetches) return false;
    this.lastRefetch = now;
    return true;
  }
}

interface DiscoveryDocument {
  readonly issuer?: unknown;
  readonly jwks_uri?: unknown;
}

function unavailable(cause?: unknown): PlantStoreError {
  return new PlantStoreError('token-issuer-unavailable', undefined, { cause });
}
