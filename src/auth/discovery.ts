import { secureUrl } from '../config/variable-parsers.js';
import { fetchDocument } from './fetch-document.js';

/** What an issuer says of itself (OpenID Connect Discovery 1.0, section 3). Only the issuer is checked. */
export type Provider = Readonly<Record<string, unknown>> & { readonly issuer: string };

/**
 * Fetches the discovery document of an issuer (section 4).
 *
 * @param timeout in milliseconds
 * @throws Error if there is none, or if it belongs to another issuer
 */
export async function discover(issuer: string, timeout: number): Promise<Provider> {
  const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const document = (await readDocument(url, timeout)) as Partial<Provider> | null;
  if (document?.issuer !== issuer) {
    throw new Error('the discovery document has a different issuer');
  }
  return { ...document, issuer };
}

/**
 * An address that the discovery document names, such as `jwks_uri`.
 *
 * @throws Error unless it is https, or http on loopback
 */
export function endpointOf(provider: Provider, name: string): URL {
  const address = provider[name];
  const url = typeof address === 'string' ? secureUrl(address) : undefined;
  if (url === undefined) throw new Error(`the discovery document has no secure ${name}`);
  return url;
}

/**
 * Fetches a document of JSON.
 *
 * @param timeout in milliseconds
 * @throws Error unless it is answered with status 200
 */
export async function readDocument(url: URL, timeout: number): Promise<unknown> {
  const response = await fetchDocument(url, timeout);
  if (response.status !== 200) throw new Error(`${url.href} has status ${response.status}`);
  return response.json();
}
