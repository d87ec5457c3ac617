import { secureUrl } from '../config/variable-types.js';
import { fetchDocument } from './fetch-document.js';

/** The discovery document of an issuer (OpenID Connect Discovery 1.0, section 3). Only the issuer is checked. */
export type Provider = Readonly<Record<string, unknown>> & { readonly issuer: string };

/**
 * OpenID Connect Discovery 1.0, section 4.
 *
 * @throws Error if there is no document, or if it belongs to another issuer
 */
export async function discover(issuer: string, signal: AbortSignal): Promise<Provider> {
  const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const response = await fetchDocument(url, signal);
  const document = (await response.json()) as Partial<Provider> | null;
  if (document?.issuer !== issuer) {
    throw new Error('the discovery document has a different issuer');
  }
  return { ...document, issuer };
}

/**
 * @param name such as `jwks_uri`
 * @throws Error unless the address is https, or http on loopback
 */
export function endpointOf(provider: Provider, name: string): URL {
  const address = provider[name];
  const url = typeof address === 'string' ? secureUrl(address) : undefined;
  if (url === undefined) throw new Error(`the discovery document has no secure ${name}`);
  return url;
}
