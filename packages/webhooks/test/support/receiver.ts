import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message that has arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What a receiver does with a message. */
export type Respond = (response: ServerResponse, message: Received) => unknown;

export const accept: Respond = (response) => response.writeHead(200).end();
export const status =
  (code: number, headers = {}, body = ''): Respond =>
  (response) =>
    response.writeHead(code, headers).end(body);
/** Never responds. */
export const hang: Respond = () => {};

/** Servers of users: one on loopback, with a path for each. */
export class Receiver {
  readonly received: Received[] = [];
  respond: Respond = accept;
  private readonly server = createServer((request, response) => {
    void this.receive(request, response);
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  url(path = '/'): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  /** The ids of the tools in the messages of a path, in the order of their arrival. */
  idsOf(path = '/'): readonly number[] {
    return this.of(path).map(({ text }) => (JSON.parse(text) as { data: { id: number } }).data.id);
  }

  of(path = '/'): readonly Received[] {
    return this.received.filter((message) => message.path === path);
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', headers } = request;
    const chunks = (await request.toArray()) as Buffer[];
    const message = { path, headers, text: Buffer.concat(chunks).toString() };
    this.received.push(message);
    this.respond(response, message);
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

/** Whether each of the secrets has signed the message (Standard Webhooks 1.0). */
export function isSigned({ headers, text }: Received, ...secrets: readonly string[]): boolean {
  const signatures = String(headers['webhook-signature']).split(' ');
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const content = [headers['webhook-id'], headers['webhook-timestamp'], text].join('.');
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  });
  return expected.join(' ') === signatures.join(' ');
}
