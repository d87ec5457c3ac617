import type { ServerResponse } from 'node:http';
import { Sum } from '../../bounds/sum.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/** For all responses that clients have not read. */
export const MAX_BYTES = 64 * 1024 * 1024;

/** How long a client may take to read a response while there is no room for others, in milliseconds. */
export const PATIENCE = 10_000;

interface Held {
  readonly bytes: number;
  readonly since: number;
  readonly responses: Set<ServerResponse>;
}

/** Limits the memory of all responses together, until their last bytes have left. */
export class ResponseMemory {
  private readonly held = new Map<object, Held>();
  private readonly sum = new Sum();

  /** Makes room for a long response before it is written, if need be by closing connections of clients that did not read in time. */
  requireRoom(bytes: number, part?: object): void {
    if (part !== undefined && this.held.has(part)) return;
    this.forgetStale(bytes);
    if (!this.hasRoom(bytes)) throw new ServiceException(ERRORS.tooManyAnswers);
  }

  /**
   * Counts written bytes until they have left or the response closes. If there is no room, the client loses the connection
   * unless the kernel takes them at once.
   * What several responses share counts once.
   *
   * @returns releases them earlier
   */
  hold(response: ServerResponse, bytes: number, part: object = {}): () => void {
    const held = this.held.get(part) ?? this.add(response, bytes, part);
    held.responses.add(response);
    const release = (): void => {
      response.off('close', release);
      held.responses.delete(response);
      if (held.responses.size === 0) this.free(part, held);
    };
    response.once('close', release);
    return release;
  }

  private add(response: ServerResponse, bytes: number, part: object): Held {
    const held = { bytes, since: performance.now(), responses: new Set<ServerResponse>() };
    const hasRoom = this.hasRoom(bytes);
    this.held.set(part, held);
    this.sum.add(bytes);
    // A response collects what is written in one turn of the event loop.
    if (!hasRoom) process.nextTick(() => this.limit(response));
    return held;
  }

  private limit(response: ServerResponse): void {
    this.forgetStale(0);
    const isBehind = (response.socket?.writableLength ?? 0) > 0;
    if (isBehind && this.sum.value > MAX_BYTES && this.held.size > 1) cutOff([response]);
  }

  /** A single response has room, however large it is. */
  private hasRoom(bytes: number): boolean {
    return this.sum.value === 0 || this.sum.value + bytes <= MAX_BYTES;
  }

  private forgetStale(bytes: number): void {
    const now = performance.now();
    for (const [part, held] of this.held) {
      if (this.hasRoom(bytes) || now - held.since < PATIENCE) return;
      cutOff(held.responses);
      this.free(part, held);
    }
  }

  private free(part: object, held: Held): void {
    if (this.held.get(part) !== held) return;
    this.held.delete(part);
    this.sum.subtract(held.bytes);
  }
}

function cutOff(responses: Iterable<ServerResponse>): void {
  for (const { req } of responses)
    req.socket.destroy(new Error('the response was not read in time'));
}
