import { createRemoteJWKSet, errors } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import type { JwtConfig } from '../config/config.js';
import { secureUrl } from '../config/variable-parsers.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** How the issuer is treated, in milliseconds. */
export const ISSUER_TIMES = {
  /** For one answer of the issuer. */
  timeout: 3_000,
  /** Until keys are fetched again although they look complete. */
  maxAge: 600_000,
  /** Between two fetches for keys that were not there: strangers choose those, and must not hammer the issuer. */
  betweenLooks: 10_000,
  /** Between two fetches after one failed. */
  afterFailure: 1_000,
} as const;

export type IssuerTimes = Readonly<Record<keyof typeof ISSUER_TIMES, number>>;

type RemoteKeySet = ReturnType<typeof createRemoteJWKSet>;

/** The issuer's public keys (RFC 7517): fetched when first needed, cached, fetched again when they rotate. */
export class IssuerKeys {
  private keySet: Promise<RemoteKeySet> | undefined;
  private lastFailure = -Infinity;
  private lastLook = -Infinity;

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
    const keys = await this.open();
    if (!keys.fresh) await this.ask(() => keys.reload());
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // Joining a fetch that is under way costs the issuer nothing.
      if (!keys.reloading && !this.mayLookAgain()) throw error;
    }
    await this.ask(() => keys.reload());
    return await keys(header, token);
  };

  private async open(): Promise<RemoteKeySet> {
    this.keySet ??= this.ask(async () =>
      createRemoteJWKSet(this.config.jwksUri ?? (await this.discover()), {
        timeoutDuration: this.times.timeout,
        cacheMaxAge: this.times.maxAge,
        // The library would look for unknown keys by itself, but not in the first moments after a fetch.
        cooldownDuration: Infinity,
      }),
    );
    try {
      return await this.keySet;
    } catch (error) {
      this.keySet = undefined;
      throw error;
    }
  }

  /** OpenID Connect Discovery 1.0, section 4. */
  private async discover(): Promise<URL> {
    const { issuer } = this.config;
    const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
      redirect: 'error',
      signal: AbortSignal.timeout(this.times.timeout),
    });
    if (!response.ok)
      throw new Error(`the discovery document was answered with ${response.status}`);
    const document: unknown = await response.json();
    const found = document as { readonly issuer?: unknown; readonly jwks_uri?: unknown } | null;
    const jwksUri = typeof found?.jwks_uri === 'string' ? secureUrl(found.jwks_uri) : undefined;
    if (found?.issuer !== issuer || jwksUri === undefined) {
      throw new Error('the discovery document is of another issuer or names no secure jwks_uri');
    }
    return jwksUri;
  }

  private async ask<T>(question: () => Promise<T>): Promise<T> {
    if (performance.now() - this.lastFailure < this.times.afterFailure) throw unavailable();
    try {
      return await question();
    } catch (cause) {
      this.lastFailure = performance.now();
      throw unavailable(cause);
    }
  }

  private mayLookAgain(): boolean {
    const now = performance.now();
    if (now - this.lastLook < this.times.betweenLooks) return false;
    this.lastLook = now;
    return true;
  }
}

function unavailable(cause?: unknown): PlantStoreError {
  return new PlantStoreError('token-issuer-unavailable', undefined, { cause });
}
