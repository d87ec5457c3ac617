import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { query } from './own-postgres.js';
import type { Environment } from './process.js';
import type { Replica } from './replica.js';

/** Lets a service send messages to {@link WebhookReceivers}. */
export const WEBHOOKS: Environment = {
  WEBHOOK_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_ALLOWED_NETWORKS: 'loopback',
};

/** The receiver of one webhook. */
export class WebhookReceiver {
  /** Each message in one line, in the order in which they came. */
  readonly messages: string[] = [];
  /** Of the next responses, before all others are 200; 0: the connection ends without one. */
  readonly statuses: number[] = [];
  /** The most requests that were in work at once. */
  mostAtOnce = 0;
  private atOnce = 0;
  private held: ServerResponse | undefined;
  private isHolding = false;

  constructor(readonly url: string) {}

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    response.once('close', () => (this.atOnce -= 1));
    const body = (await request.toArray()).join('');
    this.messages.push(lineOf(String(request.headers['webhook-id']), JSON.parse(body) as object));
    if (this.isHolding) this.held = response;
    else this.respond(response);
  }

  /** Responds to what is held, and waits for the next request, to which it does not respond until it is let go. */
  async holdNext(): Promise<void> {
    this.isHolding = true;
    this.letGoHeld();
    await vi.waitUntil(() => this.held !== undefined, { timeout: PATIENCE, interval: 5 });
  }

  /** Responds to what is held and to all that comes. */
  letGo(): void {
    this.isHolding = false;
    this.letGoHeld();
  }

  async got(count: number): Promise<void> {
    await vi.waitFor(() => expect(this.messages.length).toBeGreaterThanOrEqual(count), {
      timeout: 2 * PATIENCE,
      interval: 5,
    });
  }

  /** Waits for the last of these messages. */
  async gotLast(messages: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect(this.messages.at(-1)).toBe(messages.at(-1)), {
      timeout: 2 * PATIENCE,
      interval: 20,
    });
  }

  private letGoHeld(): void {
    const { held } = this;
    this.held = undefined;
    if (held !== undefined) this.respond(held);
  }

  private respond(response: ServerResponse): void {
    // A replica that was killed has closed the connection.
    if (response.destroyed) return;
    const status = this.statuses.shift() ?? 200;
    if (status === 0) response.destroy();
    else response.writeHead(status).end();
  }
}

/** Receivers of several webhooks, in one server on loopback. */
export class WebhookReceivers {
  private readonly all = new Map<string, WebhookReceiver>();
  private readonly server = createServer((request, response) => {
    void this.all.get(request.url ?? '')?.receive(request, response);
  });

  static async start(): Promise<WebhookReceivers> {
    const receivers = new WebhookReceivers();
    await once(receivers.server.listen(0, '127.0.0.1'), 'listening');
    return receivers;
  }

  /** Creates a webhook, and returns its id and receiver. */
  async listen(replica: Replica, path: string) {
    const { port } = this.server.address() as AddressInfo;
    const receiver = new WebhookReceiver(`http://127.0.0.1:${port}${path}`);
    this.all.set(path, receiver);
    const created = await replica.send('POST', '/webhooks', { url: receiver.url });
    expect(created.status).toBe(201);
    const { id } = (await created.json()) as { readonly id: string };
    return { id, receiver };
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** The messages of all records, in the order of their positions. */
export async function messagesOf(databaseUrl: string): Promise<readonly string[]> {
  const records = (await query(
    databaseUrl,
    'SELECT position, time, kind, id::integer, name, tag FROM plant_changes ORDER BY position',
  )) as { position: string; time: Date; kind: string; id: number; name: string; tag: string }[];
  return records.map(({ position, time, kind, id, name, tag }) => {
    const plant = kind === 'removed' ? { id } : { id, name, ...(tag !== null && { tag }) };
    const content = { type: `plant.${kind}`, timestamp: time.toISOString(), data: plant };
    return lineOf(`plant_${position}`, content);
  });
}

/**
 * A sentence for each message that was missing or came before its turn. Messages may come again together with those that follow: from where
 * a replica was that goes on in the place of another.
 */
export function misdelivered(got: readonly string[], messages: readonly string[]) {
  const places = new Map(messages.map((message, at) => [message, at]));
  const faults: string[] = [];
  let [last, repeated] = [-1, 0];
  for (const message of got) {
    const at = places.get(message);
    if (at === undefined) faults.push(`nothing has changed as in ${message}`);
    else {
      if (at > last + 1) faults.push(`${message} came after ${messages[last]}`);
      if (at <= last) repeated += 1;
      last = at;
    }
  }
  if (last < messages.length - 1) faults.push(`${last + 1} of ${messages.length} have come`);
  return { faults, repeated };
}

function lineOf(id: string, content: object): string {
  return `${id} ${JSON.stringify(content)}`;
}
