import { Connection } from './connection.js';
import type { PlantStoreOptions } from './connection.js';
import { eventsOf } from './event-stream.js';
import { parseJson } from './exact-json.js';
import { INT64_MEMBERS } from './openapi.js';
import type { components, paths } from './openapi.js';
import { Pages, split } from './pages.js';
import type { RequestOptions } from './pages.js';
import { backoff, LONGEST_LIMIT } from './repeat.js';
import { chunksOf } from './streams.js';
import { pause, within } from './waits.js';

export type PlantChange = components['schemas']['PlantChange'];

/** Which changes to read. */
export type ChangesQuery = NonNullable<paths['/changes']['get']['parameters']['query']>;
/** Which changes to follow. */
export type FollowQuery = Omit<ChangesQuery, 'limit'>;

const PATH = '/changes';
const EVENT_STREAM = 'text/event-stream';

/** A connection that brings nothing for so long is broken. In milliseconds: the service sends something every 15 s. */
const SILENCE = 45_000;

/** The record of the changes of plants. */
export class Changes {
  readonly #connection: Connection;
  readonly #pages: Pages<PlantChange, ChangesQuery>;

  /** @throws TypeError if an option is wrong */
  constructor(options: PlantStoreOptions) {
    this.#connection = new Connection(options);
    this.#pages = new Pages(PATH, INT64_MEMBERS.changes, this.#connection);
  }

  /** Iterates over all pages. */
  all(query?: ChangesQuery & RequestOptions): AsyncGenerator<PlantChange, void> {
    return this.#pages.all(query);
  }

  latestPosition({ signal = null }: RequestOptions = {}): Promise<bigint> {
    return this.#connection.send(
      {
        signal,
        send: (client, sending) => client.GET(`${PATH}/latest`, { parseAs: 'text', ...sending }),
      },
      ({ data = '' }) => {
        const latest = parseJson(data, ['position']) as components['schemas']['LatestPosition'];
        return latest.position;
      },
    );
  }

  /** Iterates without an end. It connects again, where it was, whenever the connection ends. */
  async *follow(query?: FollowQuery & RequestOptions): AsyncGenerator<PlantChange, void> {
    const { signal, parameters } = split(query);
    let last: bigint | undefined;
    let failures = 0;
    for (let isFirst = true; ; isFirst = false) {
      const body = await this.#open(parameters, last, signal, isFirst);
      const openedAt = performance.now();
      const start = last;
      for await (const { id, type, data } of eventsOf(untilBroken(body, signal))) {
        // Many events arrive at once.
        signal?.throwIfAborted();
        const position = BigInt(id);
        // A proxy can drop the header field that says where to go on.
        if (last !== undefined && position <= last) continue;
        if (data !== undefined && type === 'message') {
          yield parseJson(data, INT64_MEMBERS.changes) as PlantChange;
        }
        last = position;
      }
      const isUseful = last !== start || performance.now() - openedAt >= LONGEST_LIMIT;
      failures = isUseful ? 0 : failures + 1;
      await pause(backoff(failures), signal);
    }
  }

  #open(
    query: FollowQuery,
    last: bigint | undefined,
    signal: AbortSignal | null,
    isFirst: boolean,
  ): Promise<ReadableStream<Uint8Array>> {
    const headers = {
      Accept: EVENT_STREAM,
      ...(last !== undefined && { 'Last-Event-ID': String(last) }),
    };
    return this.#connection.send(
      {
        signal,
        // An address that has worked is right.
        ...(!isFirst && { retries: Infinity }),
        send: (client, sending) =>
          client.GET(PATH, { params: { query }, headers, parseAs: 'stream', ...sending }),
      },
      async ({ data, response }) => {
        if (data && response.headers.get('Content-Type')?.startsWith(EVENT_STREAM)) return data;
        await data?.cancel();
        throw new Error('the answer is not a stream of events');
      },
    );
  }
}

/** The chunks until the stream ends or breaks, or is silent for too long. */
async function* untilBroken(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | null,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunksOf(body, signal, (read) => within(SILENCE, signal, read));
  } catch {
    // The follower connects again, unless its signal has aborted.
  }
}
