import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import type { Attempt, Outcome, WantedPlant } from './reckoning.js';
import { isAcknowledged, isServed, misreading } from './reckoning.js';
import { until } from './process.js';

export const TOKEN = 'a-token-for-faults-of-forty-two-characters';

/** Longer than the sum of the service's timeouts. */
const DEADLINE = 15_000;

/** Milliseconds before a retry: much less than Retry-After. */
const PAUSE = 50;

/**
 * Milliseconds between two plants of a client, for tests that mostly wait for something else: without a pause, clients keep
 * both processors busy meanwhile.
 */
export const GENTLE = 50;

/** Where ids begin by default, beyond what a JavaScript number can hold. */
const FIRST_ID = 2n ** 60n;

/** How many requests in a row want the same contested id. */
const CONTENDERS = 6n;

export interface CrowdOptions {
  /** Addresses of `POST /plants`, which clients take in turn. */
  readonly urls: readonly string[];
  readonly clients?: number;
  /** One of this many requests uses a contested id. */
  readonly rivalry?: bigint;
  /** Certificate to be trusted. */
  readonly ca?: string;
  /** Whether each client reads a plant right after its 200, and then sends it again. */
  readonly readsBack?: boolean;
  /** The token of the next request. */
  readonly token?: () => string;
  /** Where ids begin, if other clients were here before. */
  readonly firstId?: bigint;
  /** Milliseconds between two plants of a client. */
  readonly pause?: number;
}

/**
 * Clients with a connection of their own each, which they keep as long as they are let, and send one create
 * after the other: most with an id of their own, some with an id that others want as well, some that are no
 * plants. Half of what failed is sent again.
 */
export class Crowd {
  /** All completed attempts, in the order of their completion. */
  readonly attempts: Attempt[] = [];
  /** A sentence for each acknowledged plant that was not found, or found with another content. */
  readonly misreadings: string[] = [];
  private readonly client: (index: number) => Client;
  private readonly rivalry: bigint;
  private readonly readsBack: boolean;
  private readonly pause: number;
  private readonly firstId: bigint;
  private readonly clients: Promise<void>[];
  private ended = false;
  private sent = 0n;

  constructor({
    urls,
    clients = 16,
    rivalry = 4n,
    ca,
    readsBack = false,
    pause = 0,
    token = () => TOKEN,
    firstId = FIRST_ID,
  }: CrowdOptions) {
    this.client = (i) => new Client(urls[i % urls.length]!, ca, token);
    this.rivalry = rivalry;
    this.readsBack = readsBack;
    this.pause = pause;
    this.firstId = firstId;
    this.clients = Array.from({ length: clients }, (_, i) => this.run(this.client(i)));
  }

  /** Waits until this many more creates have succeeded, with a timeout. */
  async served(count: number, bound = 2.5 * PATIENCE): Promise<void> {
    await this.outcomes(isServed, count, bound);
  }

  /** Waits until this many more attempts have a given kind of outcome. */
  async outcomes(
    kind: (attempt: Attempt) => boolean,
    count: number,
    bound = PATIENCE,
  ): Promise<void> {
    let seen = this.attempts.length;
    let left = count;
    const enough = await until(() => {
      for (; seen < this.attempts.length; seen += 1) if (kind(this.attempts[seen]!)) left -= 1;
      return left <= 0;
    }, bound);
    if (!enough) throw new Error(`${left} of ${count} outcomes are missing after ${bound} ms`);
  }

  /** Lets the clients finish their running requests. */
  async stop(): Promise<readonly Attempt[]> {
    this.ended = true;
    await Promise.all(this.clients);
    return this.attempts;
  }

  /**
   * Until the work has ended, one more client sends what is no plant, without a pause. The service rejects it without the database:
   * the attempts tell how long a response takes on this machine at each moment.
   */
  async controlsDuring(work: () => Promise<unknown>): Promise<readonly Attempt[]> {
    const client = this.client(0);
    const plant = { id: 0n, name: 'control', tag: null };
    const attempts: Attempt[] = [];
    const end = new AbortController();
    const control = async (): Promise<void> => {
      while (!end.signal.aborted) attempts.push(await client.create(plant, false));
      client.leave();
    };
    await Promise.all([control(), work().finally(() => end.abort())]);
    return attempts;
  }

  private async run(client: Client): Promise<void> {
    while (!this.ended) {
      const [plant, valid] = this.next();
      const attempt = await client.create(plant, valid);
      this.attempts.push(attempt);
      if (this.readsBack && isAcknowledged(attempt)) {
        const misread = misreading(plant, await client.read(plant));
        if (misread !== undefined) this.misreadings.push(misread);
        this.attempts.push(await client.create(plant, valid));
      }
      if (this.pause > 0) await sleep(this.pause);
      if (isServed(attempt)) continue;
      await sleep(PAUSE);
      if (plant.id % 2n === 0n) this.attempts.push(await client.create(plant, valid));
    }
    client.leave();
  }

  private next(): readonly [WantedPlant, boolean] {
    this.sent += 1n;
    const { sent, rivalry, firstId } = this;
    const name = `Nº ${sent} "é" \\ \u{1F33F}`;
    const tag = sent % 3n === 0n ? null : `tag\n${sent}`;
    if (sent % rivalry === 1n) {
      // Negative ids are contested. Some attempts have the same plant.
      const id = -(firstId + sent / rivalry / CONTENDERS);
      const alike = sent % (2n * rivalry) === 1n;
      return [alike ? { id, name: 'the same', tag: null } : { id, name, tag }, true];
    }
    return [{ id: firstId + sent, name, tag }, sent % 16n !== 0n];
  }
}

class Client {
  private readonly secure: boolean;
  private readonly agent: HttpAgent | HttpsAgent;

  constructor(
    private readonly url: string,
    ca: string | undefined,
    private readonly token: () => string,
  ) {
    this.secure = url.startsWith('https:');
    const options = { keepAlive: true, maxSockets: 1 };
    this.agent = this.secure
      ? new HttpsAgent({ ...options, ...(ca !== undefined && { ca }) })
      : new HttpAgent(options);
  }

  async create(plant: WantedPlant, valid: boolean): Promise<Attempt> {
    const sentAt = performance.now();
    const outcome = await this.send('POST', this.url, bodyOf(plant, valid));
    return { plant, valid, sentAt, took: performance.now() - sentAt, outcome };
  }

  read({ id }: WantedPlant): Promise<Outcome> {
    return this.send('GET', `${this.url}/${id}`);
  }

  leave(): void {
    this.agent.destroy();
  }

  private send(method: string, url: string, body = ''): Promise<Outcome> {
    return new Promise((resolve) => {
      const request = (this.secure ? httpsRequest : httpRequest)(
        url,
        {
          agent: this.agent,
          method,
          headers: {
            Authorization: `Bearer ${this.token()}`,
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
          },
        },
        (response) => {
          text(response).then(
            (content) =>
              settle({
                kind: 'answered',
                status: response.statusCode ?? 0,
                body: parsed(content),
                retryAfter: response.headers['retry-after'],
              }),
            (error: Error) => settle({ kind: 'lost', reason: error.message }),
          );
        },
      );
      const timer = setTimeout(() => {
        settle({ kind: 'hung' });
        request.destroy();
      }, DEADLINE);
      const settle = (outcome: Outcome): void => {
        clearTimeout(timer);
        resolve(outcome);
      };
      request.on('error', (error) => settle({ kind: 'lost', reason: error.message }));
      request.end(body);
    });
  }
}

/** Written by hand, because `JSON.stringify` does not support `bigint`. */
function bodyOf({ id, name, tag }: WantedPlant, valid: boolean): string {
  const members = [`"id":${id}`, `"name":${valid ? JSON.stringify(name) : 7}`];
  if (tag !== null) members.push(`"tag":${JSON.stringify(tag)}`);
  return `{${members.join()}}`;
}

/** Text that is not JSON, such as the page of a proxy, is returned unchanged. */
function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
