import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import { answerMemory } from './send-json.js';

/** From one look for room to the next, in milliseconds. */
const NO_ROOM = 500;

/**
 * What a handler returns to send server-sent events (WHATWG HTML, section 9.2). They are sent as fast as the client reads
 * them. The server closes the connection of a client that does not.
 */
export class EventStream {
  /** @param texts each with one event or several, as text of the format. A failure breaks the connection */
  constructor(private readonly texts: AsyncGenerator<string>) {}

  async send(response: Response, status: number): Promise<void> {
    response.writeHead(status, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // nginx would collect the events in a buffer.
      'X-Accel-Buffering': 'no',
    });
    if (response.req.method === 'HEAD') {
      response.end();
      await this.texts.return(undefined);
      return;
    }
    response.flushHeaders();
    // A client that closes its side has left: unlike other answers, this has no end that it could wait for.
    const { socket } = response.req;
    const leave = (): void => void response.destroy();
    socket.once('end', leave);
    response.once('close', () => socket.off('end', leave));
    try {
      for await (const text of this.texts) {
        if (response.closed) break;
        await write(response, text);
      }
      if (!response.closed) response.end();
    } catch (error) {
      response.req.next?.(error);
    }
  }
}

/** Resolves when the client has room for more. */
async function write(response: Response, text: string): Promise<void> {
  const release = await holdRoom(response, Buffer.byteLength(text));
  if (!response.write(text)) {
    const end = new AbortController();
    const { signal } = end;
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
    end.abort();
  }
  release();
}

/** Waits until a large event has room in the memory of all answers. */
async function holdRoom(response: Response, bytes: number): Promise<() => void> {
  for (;;) {
    try {
      return answerMemory.hold(response, bytes);
    } catch {
      await sleep(NO_ROOM);
      if (response.closed) return () => {};
    }
  }
}
