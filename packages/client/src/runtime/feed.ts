import { eventsOf } from './event-stream.js';
import { parseJson } from './exact-json.js';
import { chunksOf } from './lines.js';
import { Pages, split } from './pages.js';
import type { RequestOptions } from './pages.js';
import { backoff, LONGEST_LIMIT } from './repeat.js';
import type { FeedTypes } from './resource-types.js';
import { pause, within } from './waits.js';

const EVENT_STREAM = 'text/event-stream';

/** A connection that brings nothing for so long is broken. In milliseconds: the service sends something every 15 s. */
const SILENCE = 45_000;

/** The changes of a resource. */
export class Feed<Types extends FeedTypes> extends Pages<Types['change'], Types['query']> {
  /** The position of the newest change. */
  latestPosition({ signal = null }: RequestOptions = {}): Promise<bigint> {
    return this.connection.send(
      { method: 'GET', path: `${this.path}/latest`, signal },
      async (response) => {
        const text = await response.text();
        const latest = parseJson(text, ['position']) as { readonly position: bigint };
        return latest.position;
      },
    );
  }

  /**
   * Iterates over the recorded changes and then those that come, each once. It ends only with the signal, when the loop is left, or
   * with an error that a further attempt would not change. It connects again whenever the connection ends.
   */
  async *follow(
    query?: Omit<Types['query'], 'limit'> & RequestOptions,
  ): AsyncGenerator<Types['change'], void> {
    const { signal, parameters } = split(query);
    let last: bigint | undefined;
    let failures = 0;
    for (let isFirst = true; ; isFirst = false) {
      const headers = {
        Accept: EVENT_STREAM,
        ...(last !== undefined && { 'Last-Event-ID': String(last) }),
      };
      // An address that has worked is right.
      const retries = isFirst ? {} : { retries: Infinity };
      const body = await this.connection.send(
        {
          method: 'GET',
          path: this.path,
          query: parameters,
          headers,
          signal,
          isStream: true,
          ...retries,
        },
        streamOf,
      );
      const openedAt = performance.now();
      const start = last;
      for await (const { id, type, data } of eventsOf(untilBroken(body, signal))) {
        // Many events arrive at once.
        signal?.throwIfAborted();
        const position = BigInt(id);
        // A proxy can drop the header field that says where to go on.
        if (last !== undefined && position <= last) continue;
        if (data !== undefined && type === 'message') {
          yield parseJson(data, this.int64) as Types['change'];
        }
        last = position;
      }
      const isUseful = last !== start || performance.now() - openedAt >= LONGEST_LIMIT;
      failures = isUseful ? 0 : failures + 1;
      await pause(backoff(failures), signal);
    }
  }
}

async function streamOf({ body, headers }: Response): Promise<ReadableStream<Uint8Array>> {
  if (body && headers.get('Content-Type')?.startsWith(EVENT_STREAM)) return body;
  await body?.cancel();
  throw new Error('the response is not a stream of events');
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
