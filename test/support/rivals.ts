import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOKEN } from './crowd.js';
import type { Members, Operation, Reply, Wish } from './linearizability.js';
import { until } from './process.js';

const CLIENTS = 48;

/** Ids that clients use at the same time: few, so that they meet. */
const OPEN_IDS = 8;

/**
 * Operations on an id, after which another takes its place. What takes the checker long is operations whose outcome is
 * not known: each is concurrent with all that follow.
 */
const MOST = { operations: 250, open: 12 };

/** How often clients do what. */
const KINDS = [
  'create',
  'create',
  'create',
  'look-up',
  'replace',
  'patch',
  'remove',
] as const satisfies readonly Wish['kind'][];

const METHODS = { 'look-up': 'GET', replace: 'PUT', patch: 'PATCH', remove: 'DELETE' } as const;

/** Names that several clients create the same plant with. */
const COMMON_NAMES = ['n0', 'n1'];

/** Milliseconds before the look-up of a client that has met a failure. */
const PAUSE = 20;

/** Longer than the sum of the service's timeouts. */
const DEADLINE = 15_000;

/** Plants on a page. Pages of 50 are read in groups. */
const PAGE_SIZES = [3, 50];

const LAST_PAGE = 1_000;

/** Others, except 503, are no answers to what the clients ask. */
const KNOWN_OUTCOMES: ReadonlySet<number> = new Set([200, 204, 40009, 40401, 41200]);

interface Plant {
  readonly id: number;
  operations: number;
  open: number;
  /** The entity tag that a client got last. */
  etag?: string;
}

interface StoredPlant extends Members {
  readonly id: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly etag: string | undefined;
  /** Whether it is a page and there is another. */
  readonly hasNext: boolean;
}

/** Clients that do everything at once with a few plants, and record what they asked, when, and what they learnt. */
export class Rivals {
  private readonly history: Operation[] = [];
  /** Requests that were answered. */
  answered = 0;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly plants: Plant[] = [];
  /** Ids begin at 1, and none is skipped. */
  private lastId = 0;
  private names = 0;
  private ended = false;
  private readonly clients: Promise<unknown>;

  /** @param urls of `/plants` of each replica */
  constructor(private readonly urls: readonly string[]) {
    for (let i = 0; i < OPEN_IDS; i += 1) this.plants.push(this.newPlant());
    this.clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.run(client)));
    // Reported by `served` and `stop`.
    this.clients.catch(() => {});
  }

  /** Waits until this many more requests have been answered. */
  async served(count: number, bound = 150_000): Promise<void> {
    const wanted = this.answered + count;
    const isEnough = await until(() => this.answered >= wanted || this.ended, bound);
    // A client has met an answer that it does not know.
    if (this.ended) await this.clients;
    if (isEnough) return;
    throw new Error(`${wanted - this.answered} of ${count} answers are missing after ${bound} ms`);
  }

  /** Lets the clients finish their requests, reads all plants once more, and returns what happened. */
  async stop(): Promise<readonly Operation[]> {
    this.ended = true;
    await this.clients;
    for (let after = 0; after < this.lastId; after += LAST_PAGE) {
      if (!(await this.list(0, after, LAST_PAGE))) throw new Error('the last pages are missing');
    }
    this.agent.destroy();
    return this.history;
  }

  private async run(client: number): Promise<void> {
    try {
      while (!this.ended) await this.act(client);
    } finally {
      this.ended = true;
    }
  }

  private async act(client: number): Promise<void> {
    const plant = oneOf(this.plants);
    if (Math.random() < 0.08) {
      if (await this.list(client, plant.id - 1, oneOf(PAGE_SIZES))) return;
    } else if (await this.perform(client, plant, this.wish(plant))) {
      return;
    }
    // During an outage, changes of unknown outcome would pile up; look-ups only fail.
    do await sleep(PAUSE);
    while (!this.ended && !(await this.perform(client, plant, { id: plant.id, kind: 'look-up' })));
  }

  private wish({ id, etag }: Plant): Wish {
    const kind = oneOf(KINDS);
    if (kind === 'create') return { id, kind, body: this.content() };
    const wish = { id, kind, ...this.bodyOf(kind) };
    const chance = Math.random();
    if (chance < 0.1) return { ...wish, ifMatch: '*' };
    return chance < 0.5 && etag !== undefined ? { ...wish, ifMatch: etag } : wish;
  }

  private bodyOf(kind: Wish['kind']): { body?: Members } {
    if (kind === 'replace') {
      return { body: Math.random() < 0.3 ? this.content() : { name: this.newName() } };
    }
    if (kind !== 'patch') return {};
    return { body: oneOf([{}, { tag: null }, { tag: this.newName() }, { name: this.newName() }]) };
  }

  /** A content that others have sent as well. */
  private content(): Members {
    const name = oneOf(COMMON_NAMES);
    return Math.random() < 0.8 ? { name } : { name, tag: 'indoor' };
  }

  /** Different for each change, so that each that is lost is missed. */
  private newName(): string {
    this.names += 1;
    return `x${this.names}`;
  }

  /** @returns whether there is an answer */
  private async perform(client: number, plant: Plant, wish: Wish): Promise<boolean> {
    const call = performance.now();
    const answer = await this.send(wish);
    if (answer === 'refused') return false;
    const reply = replyOf(answer, plant.id);
    if (reply !== undefined) {
      this.answered += 1;
      this.history.push({ ...wish, client, call, return: performance.now(), ...reply });
    } else if (wish.kind !== 'look-up') {
      this.history.push({ ...wish, client, call });
      plant.open += 1;
    }
    if (reply?.etag !== undefined) plant.etag = reply.etag;
    plant.operations += 1;
    if (plant.operations >= MOST.operations || plant.open >= MOST.open) this.retire(plant);
    return reply !== undefined;
  }

  /**
   * Reads a page, which is one look-up for each id between its first and its last: those that it does not have were free
   * when it was read.
   */
  private async list(client: number, after: number, limit: number): Promise<boolean> {
    const call = performance.now();
    const newest = this.lastId;
    const answer = await this.fetch('GET', `?after=${after}&limit=${limit}`);
    if (answer === 'refused' || answer === 'lost' || answer.status === 503) return false;
    if (answer.status !== 200) throw unexpected(answer);
    const end = performance.now();
    this.answered += 1;
    const page = new Map((answer.body as StoredPlant[]).map((plant) => [plant.id, plant]));
    const last = answer.hasNext ? Math.max(...page.keys()) : newest;
    for (let id = after + 1; id <= Math.min(last, newest); id += 1) {
      const plant = page.get(id);
      const reply = plant ? { outcome: 200, answer: contentOf(plant, id) } : { outcome: 40401 };
      this.history.push({ id, kind: 'list', client, call, return: end, ...reply });
    }
    return true;
  }

  private newPlant(): Plant {
    this.lastId += 1;
    return { id: this.lastId, operations: 0, open: 0 };
  }

  private retire(plant: Plant): void {
    const index = this.plants.indexOf(plant);
    if (index !== -1) this.plants[index] = this.newPlant();
  }

  private send({ id, kind, body, ifMatch }: Wish): Promise<Answer | 'lost' | 'refused'> {
    if (kind === 'create') return this.fetch('POST', '', { id, ...body });
    return this.fetch(METHODS[kind], `/${id}`, body, ifMatch);
  }

  /** Asks any replica. `refused`: the request was not sent. */
  private fetch(
    method: string,
    path: string,
    content?: object,
    ifMatch?: string,
  ): Promise<Answer | 'lost' | 'refused'> {
    const body = content && JSON.stringify(content);
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
      ...(body !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      }),
    };
    return new Promise((settle, fail) => {
      const sent = request(
        oneOf(this.urls) + path,
        { agent: this.agent, method, headers, timeout: DEADLINE },
        (response) => {
          const { statusCode: status = 0, headers: fields } = response;
          text(response)
            .then(
              (json) => ({
                status,
                body: parsed(json),
                etag: fields.etag,
                hasNext: 'link' in fields,
              }),
              () => 'lost' as const,
            )
            .then(settle, fail);
        },
      );
      sent.on('timeout', () => sent.destroy());
      sent.on('error', ({ code }: NodeJS.ErrnoException) =>
        settle(code === 'ECONNREFUSED' ? 'refused' : 'lost'),
      );
      sent.end(body);
    });
  }
}

/** @returns `undefined` if the request may have had its effect, or may have it later */
function replyOf(answer: Answer | 'lost', id: number): Reply | undefined {
  if (answer === 'lost' || answer.status === 503) return undefined;
  const { status, body, etag } = answer;
  const outcome = status < 400 ? status : (body as { error: number }).error;
  if (!KNOWN_OUTCOMES.has(outcome)) throw unexpected(answer);
  return {
    outcome,
    ...(status === 200 && { answer: contentOf(body as Partial<StoredPlant>, id) }),
    ...(etag !== undefined && { etag }),
  };
}

function unexpected({ status, body }: Answer): Error {
  return new Error(`unexpected answer: ${status} ${JSON.stringify(body)}`);
}

/** The answer of a create has no id. */
function contentOf({ id, ...members }: Partial<StoredPlant>, wanted: number): Members {
  if (id !== undefined && id !== wanted) throw new Error(`asked for ${wanted}, but got ${id}`);
  return members;
}

function parsed(json: string): unknown {
  return json === '' ? undefined : (JSON.parse(json) as unknown);
}

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)]!;
}
