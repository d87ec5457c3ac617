import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { MAX_RECORD } from '../records.js';

export interface Message {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer<ArrayBuffer>;
}

/** @returns the status of the response. The signal aborts when nobody waits for it any more */
export type Handle = (message: Message, signal: AbortSignal) => Promise<number>;

/** A server on loopback for the messages of a webhook. */
export class Receiver {
  private readonly server = createServer((request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    this.statusFor(request, gone.signal).then(
      (status) => response.writeHead(status).end(),
      // The service sends it again.
      () => response.destroy(),
    );
  });

  private constructor(private readonly handle: Handle) {}

  static async start(handle: Handle): Promise<Receiver> {
    const receiver = new Receiver(handle);
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async statusFor(request: IncomingMessage, signal: AbortSignal): Promise<number> {
    const { headers } = request;
    if (!(Number(headers['content-length']) <= MAX_RECORD)) return 413;
    return this.handle({ headers, body: await buffer(request) }, signal);
  }
}

/** Whether a message is from who knows the secret (Standard Webhooks 1.0). */
export function isSigned({ headers, body }: Message, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const begin = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`;
  const digest = createHmac('sha256', key).update(begin).update(body).digest('base64');
  const expected = Buffer.from(`v1,${digest}`);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}
