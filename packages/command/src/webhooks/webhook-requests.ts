import { parse } from 'lossless-json';
import type { Call } from '@resource-service/client/runtime';
import type { Connection } from '../connection/connection.js';
import { Requests } from '../connection/requests.js';

const ONE = '/webhooks/{id}';

const PAGE_SIZE = 1_000;

export interface NewWebhook {
  readonly url: string;
  /** All unless they are given. */
  readonly kinds?: readonly string[];
  readonly resources?: readonly string[];
}

/** What is not given stays as it is. */
export type WebhookPatch = { readonly [Name in keyof NewWebhook]?: NewWebhook[Name] | undefined };

export interface Secret {
  readonly id: string;
  readonly secret: string;
}

/** A webhook or a delivery, whose numbers have all digits. */
export type Item = Readonly<Record<string, unknown>>;

export interface Delivery extends Item {
  readonly outcome: 'delivered' | 'failed' | 'gone';
  /** Unless the message was delivered, or the response was 410. */
  readonly reason?: string;
}

type Target = Pick<Call, 'method' | 'path' | 'parameters' | 'query' | 'body'>;

/** The operations of webhooks, whose responses are not checked. */
export class WebhookRequests {
  private readonly requests: Requests;

  constructor(connection: Connection, signal: AbortSignal, announce: (message: string) => void) {
    this.requests = new Requests(connection, signal, announce);
  }

  async list(): Promise<readonly Item[]> {
    const found: Item[] = [];
    for (;;) {
      const query = { limit: PAGE_SIZE, after: found.at(-1)?.['id'] };
      const page = await this.read<readonly Item[]>({ method: 'GET', path: '/webhooks', query });
      if (page.length === 0) return found;
      found.push(...page);
    }
  }

  find(id: string): Promise<Item> {
    return this.read({ method: 'GET', path: ONE, parameters: { id } });
  }

  /** The newest first. */
  deliveries(id: string): Promise<readonly Item[]> {
    const query = { sort: '-id', limit: PAGE_SIZE };
    return this.read({ method: 'GET', path: `${ONE}/deliveries`, parameters: { id }, query });
  }

  create(body: NewWebhook): Promise<Secret> {
    return this.change({ method: 'POST', path: '/webhooks', body });
  }

  update(id: string, body: WebhookPatch): Promise<Item> {
    return this.change({ method: 'PATCH', path: ONE, parameters: { id }, body });
  }

  /** Sends a test message. @returns what has become of it */
  test(id: string): Promise<Delivery> {
    return this.change({ method: 'POST', path: `${ONE}/test`, parameters: { id } });
  }

  /** Sends the message of a delivery again. @returns what has become of it */
  resend(id: string, delivery: bigint): Promise<Delivery> {
    const path = `${ONE}/deliveries/{delivery}/resend`;
    return this.change({ method: 'POST', path, parameters: { id, delivery } });
  }

  resume(id: string, from: string): Promise<Item> {
    const body = { from };
    return this.change({ method: 'POST', path: `${ONE}/resume`, parameters: { id }, body });
  }

  rotateSecret(id: string): Promise<Secret> {
    return this.change({ method: 'POST', path: `${ONE}/rotate-secret`, parameters: { id } });
  }

  remove(id: string): Promise<void> {
    return this.change({ method: 'DELETE', path: ONE, parameters: { id } });
  }

  private read<T>(target: Target): Promise<T> {
    return this.requests.send(callOf(target), contentOf<T>);
  }

  private change<T>(target: Target): Promise<T> {
    return this.requests.sendOnce(callOf(target), contentOf<T>);
  }
}

/** Why a message was not delivered, as a sentence; `undefined` if it was. */
export function problemOf({ outcome, reason }: Delivery): string | undefined {
  if (outcome === 'delivered') return undefined;
  return reason ?? 'The response has the status 410.';
}

function callOf(target: Target): Omit<Call, 'signal'> {
  return { ...target, headers: { Accept: 'application/json' } };
}

async function contentOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  return (text === '' ? undefined : parse(text)) as T;
}
