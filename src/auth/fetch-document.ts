import { get as getOverHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { get as getOverHttps } from 'node:https';

/** More than any discovery document or key set has. */
const MAX_BYTES = 1024 ** 2;

/**
 * Fetches a document of at most 1 MiB within a time limit; follows no redirection.
 *
 * Not by the global `fetch`, which forgets its time limit when Node 20 collects garbage while the body
 * is under way.
 *
 * @param timeout in milliseconds, for all of it
 */
export function fetchDocument(
  url: URL,
  timeout: number,
  headers: Readonly<Record<string, string>> = { Accept: 'application/json' },
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? getOverHttps : getOverHttp;
    // A kept connection could be closed by the other side just when it is used again.
    const request = get(url, { headers, agent: false }, (response) => {
      read(response).then(resolve, reject);
    });
    const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeout);
    request.on('error', reject).on('close', () => clearTimeout(timer));
  });
}

async function read(response: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: Number(response.statusCode) });
}
