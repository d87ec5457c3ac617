import type { AddressInfo } from 'node:net';
import { isPublicToken } from '../config/config.js';
import type { Config } from '../config/config.js';

/** URL of the API, without a trailing slash. */
export function localAddress({ basePath }: Config['http'], address: AddressInfo): string {
  return `http://${hostInUrl(address)}:${address.port}${basePath}`;
}

export function welcome(config: Config, address: AddressInfo): string {
  const { identity, http, auth, secretFiles } = config;
  const { summary, path, body } = identity.firstRequest;
  const base = localAddress(http, address);
  const token = isPublicToken(config) ? auth.token : undefined;
  const file = secretFiles['AUTH_TOKEN'];
  const [place, shown] =
    file === undefined
      ? ['the value of AUTH_TOKEN', '$AUTH_TOKEN']
      : [`in ${file}`, `$(cat '${file}')`];
  return `
  ${identity.title.padEnd(12)}  ${base}
  Docs          ${http.docsEnabled ? `${base}/docs` : 'off (DOCS_ENABLED)'}
  Token         ${token ?? place}

${summary}:

curl -sS ${base}${path} -w '\\n' -H "Authorization: Bearer ${token ?? shown}" -H "Content-Type: application/json" -d '${body}'

`;
}

function hostInUrl({ address, family }: AddressInfo): string {
  if (['127.0.0.1', '0.0.0.0', '::1', '::'].includes(address)) return 'localhost';
  return family === 'IPv6' ? `[${address}]` : address;
}
