import type { AddressInfo } from 'node:net';
import type { Config } from './config/config.js';

/** Address of the API, without a slash at its end, as somebody on this machine reaches it. */
export function localAddress({ basePath }: Config['http'], address: AddressInfo): string {
  return `http://${hostOf(address)}:${address.port}${basePath}`;
}

/**
 * What a person needs for a first request, as text for the terminal.
 *
 * @param token one that may be shown; absent when the person chose it
 */
export function welcome({ http }: Config, address: AddressInfo, token?: string): string {
  const base = localAddress(http, address);
  return `
  Plant store   ${base}
  Docs          ${http.docsEnabled ? `${base}/docs` : 'off (DOCS_ENABLED)'}
  Token         ${token ?? 'the one in AUTH_TOKEN'}

Create a plant:

curl -sS ${base}/plants -H "Authorization: Bearer ${token ?? '$AUTH_TOKEN'}" -H "Content-Type: application/json" -d '{"id":1,"name":"Monstera","tag":"indoor"}'

`;
}

function hostOf({ address, family }: AddressInfo): string {
  if (['127.0.0.1', '0.0.0.0', '::1', '::'].includes(address)) return 'localhost';
  return family === 'IPv6' ? `[${address}]` : address;
}
