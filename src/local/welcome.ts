import type { AddressInfo } from 'node:net';
import { isLocalToken } from '../config/config.js';
import type { Config } from '../config/config.js';

/** Address of the API, without a slash at its end, as somebody on this machine reaches it. */
export function localAddress({ basePath }: Config['http'], address: AddressInfo): string {
  return `http://${hostOf(address)}:${address.port}${basePath}`;
}

/**
 * What a person needs for a first request, as text for the terminal.
 *
 * @param readyMade a token that this service has made
 */
export function welcome({ http, auth }: Config, address: AddressInfo, readyMade?: string): string {
  const base = localAddress(http, address);
  const token = readyMade ?? (hasLocalToken({ auth }) ? auth.token : undefined);
  return `
  Plant store   ${base}
  Docs          ${http.docsEnabled ? `${base}/docs` : 'off (DOCS_ENABLED)'}
  Token         ${token ?? 'the one in AUTH_TOKEN'}

Create a plant:

curl -sS ${base}/plants -H "Authorization: Bearer ${token ?? '$AUTH_TOKEN'}" -H "Content-Type: application/json" -d '{"id":1,"name":"Monstera","tag":"indoor"}'

`;
}

/** Whether the token is one that everybody knows, and so may see. */
export function hasLocalToken({ auth }: Pick<Config, 'auth'>): boolean {
  return auth.token !== undefined && isLocalToken(auth.token);
}

function hostOf({ address, family }: AddressInfo): string {
  if (['127.0.0.1', '0.0.0.0', '::1', '::'].includes(address)) return 'localhost';
  return family === 'IPv6' ? `[${address}]` : address;
}
