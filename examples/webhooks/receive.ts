/*
 * Receives webhooks, with no dependencies:
 * npx tsc --project examples && PLANT_STORE_WEBHOOK_SECRET=whsec_… node examples/dist/webhooks/receive.js
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

const { PLANT_STORE_WEBHOOK_SECRET: secret = '', PORT: port = '4000' } = process.env;
const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
if (key.length === 0) throw new Error('PLANT_STORE_WEBHOOK_SECRET is missing');

/** In seconds. */
const TOLERANCE = 300;

/** In bytes. */
const MAX_BODY = 1_000_000;

interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: unknown;
}

function isGenuine(headers: IncomingHttpHeaders, body: string): boolean {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    String(headers[`webhook-${name}`]),
  ) as [string, string, string];
  // Others could send an old message again.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE)) return false;
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`);
  const expected = Buffer.from(`v1,${hmac.digest('base64')}`);
  // There are two while the secret is replaced.
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function receive(request: IncomingMessage): Promise<number> {
  if (!(Number(request.headers['content-length']) <= MAX_BODY)) return 413;
  // The signature is of these characters: JSON that is written again may have others.
  const body = await text(request);
  if (!isGenuine(request.headers, body)) return 400;
  const { type, data } = JSON.parse(body) as Message;
  // It may come again: store its id together with what you do, before you respond.
  console.log(request.headers['webhook-id'], type, JSON.stringify(data));
  return 204;
}

createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    // It comes again.
    () => response.writeHead(500).end(),
  );
}).listen(Number(port));
