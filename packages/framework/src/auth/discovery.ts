import { Agent as HttpAgent, get as getOverHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, get as getOverHttps } from 'node:https';
import { secureUrl } from '../config/variable-types.js';

/** Larger than any discovery document or key set. */
const MAX_BYTES = 1024 ** 2;

/** Key sets have their own media type (RFC 7517, section 8.5.2). */
const HEADERS = { Accept: 'application/json, application/jwk-set+json' };

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

/**
 * Fetches a document of at most 1 MiB, without following redirects.
 *
 * The global `fetch` does not fit: in Node 20, a garbage collection during the body can remove its timeout.
 *
 * @throws Error unless the status is 200
 */
export function fetchDocument(url: URL, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? getOverHttps : getOverHttp;
    // Node.js says only that the request was aborted.
    const fail = (error: Error): void => reject(signal.aborted ? (signal.reason as Error) : error);
    get(url, { headers: HEADERS, agent: agentFor(url), signal }, (response) => {
      read(response, url).then(resolve, fail);
    }).on('error', fail);
  });
}

/**
 * Keeps no connection: the server might close an idle one just when it is reused. Node.js itself passes no proxy of the environment
 * to such an agent. Before versions 22.21 and 24.5, it knows none.
 */
function agentFor({ protocol }: URL): HttpAgent {
  const usesProxies = process.env['NODE_USE_ENV_PROXY'] === '1';
  const options = { keepAlive: false, ...(usesProxies && { proxyEnv: process.env }) };
  return protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
}

async function read(response: IncomingMessage, url: URL): Promise<Response> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('the response is too large');
    chunks.push(chunk);
  }
  const { statusCode } = response;
  if (statusCode !== 200) throw new Error(`${url.href} has status ${statusCode}`);
  return new Response(Buffer.concat(chunks));
}
