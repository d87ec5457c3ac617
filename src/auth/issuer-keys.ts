import { createRemoteJWKSet, customFetch, errors } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import type { JwtConfig } from '../config/config.js';
import { secureUrl } from '../config/variable-parsers.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { fetchDocument } from './fetch-document.js';

/** How the issuer is treated, in milliseconds. */
export const ISSUER_TIMES = {
  /** For one answer of the issuer. */
  timeout: 3_000,
  /** Until keys are fetched again although they look complete. */
  maxAge: 600_000,
  /** Between two fetches for keys that were not there: strangers choose those, and must not hammer the issuer. */
  betweenLooks: 5_000,
  /** Between two fetches after one failed. */
  afterFailure: 1_000,
} as const;

export type IssuerTimes = Readonly<Record<keyof typeof ISSUER_TIMES, number>>;

type RemoteKeySet = ReturnType<typeof createRemoteJWKSet>;

/** The issuer's public keys (RFC 7517): fetched when first needed, cached, fetched again when they rotate. */
export class IssuerKeys {
  private opened: Promise<RemoteKeySet> | undefined;
  private lastLook = -Infinity;
  private lastFailure = -Infinity;
  private failing = false;

  constructor(
    private readonly config: Pick<JwtConfig, 'issuer' | 'jwksUri'>,
    private readonly times: IssuerTimes = ISSUER_TIMES,
  ) {}

  /**
   * Finds the key that a token names.
   *
   * @throws PlantStoreError `token-issuer-unavailable` when the issuer does not give its keys
   * @throws JOSEError when it has no such key
   */
  readonly resolve: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.freshKeys();
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!this.mayLookAgain(keys)) throw error;
    }
    await this.ask(() => keys.reload());
    return await keys(header, token);
  };

  private async freshKeys(): Promise<RemoteKeySet> {
    const opening = (this.opened ??= this.ask(() => this.open()));
    try {
      const keys = await opening;
      if (!keys.fresh) await this.ask(() => keys.reload());
      return keys;
    } catch (error) {
      // Discovered anew next time: the keys may have moved.
      if (this.opened === opening) this.opened = undefined;
      throw error;
    }
  }

  private async open(): Promise<RemoteKeySet> {
    return createRemoteJWKSet(this.config.jwksUri ?? (await this.discover()), {
      [customFetch]: (url, { headers }) =>
        fetchDocument(new URL(url), this.times.timeout, Object.fromEntries(headers)),
      cacheMaxAge: this.times.maxAge,
      // The library would look for unknown keys by itself, but not in the first moments after a fetch.
      cooldownDuration: Infinity,
    });
  }

  /** OpenID Connect Discovery 1.0, section 4. */
  private async discover(): Promise<URL> {
    const { issuer } = this.config;
    const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const response = await fetchDocument(url, this.times.timeout);
    if (!response.ok)
      throw new Error(`the discovery document was answered with ${response.status}`);
    const document = (await response.json()) as DiscoveryDocument | null;
    const jwksUri =
      typeof document?.jwks_uri === 'string' ? secureUrl(document.jwks_uri) : undefined;
    if (document?.issuer !== issuer || jwksUri === undefined) {
      throw new Error('the discovery document is of another issuer or names no secure jwks_uri');
    }
    return jwksUri;
  }

  private async ask<T>(question: () => Promise<T>): Promise<T> {
    if (performance.now() - this.lastFailure < this.times.afterFailure) throw unavailable();
    try {
      const answer = await question();
      this.failing = false;
      return answer;
    } catch (cause) {
      this.failing = true;
      this.lastFailure = performance.now();
      throw unavailable(cause);
    }
  }

  /** Whether a key that was not there may be looked for. */
  private mayLookAgain(keys: RemoteKeySet): boolean {
    // Joining a fetch that is under way costs the issuer nothing, and after a failure nobody knows.
    if (keys.reloading || this.failing) return true;
    const now = performance.now();
    if (now - this.lastLook < this.times.betweenLooks) return false;
    this.lastLook = now;
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
