import { once } from 'node:events';
import type { Response } from 'express';
import { requireRoomFor } from './bounded-response.js';

/**
 * What a handler returns to send server-sent events (WHATWG HTML, section 9.2), as fast as the client reads them. The
 * connection of a client that does not read is closed.
 */
export class EventStream {
  /** @param parts each with one event or several, in the format. An error breaks the connection */
  constructor(private readonly parts: AsyncGenerator<string | Uint8Array>) {}

  async send(response: Response, status: number): Promise<void> {
    // The shutdown may have responded.
    if (response.headersSent) {
      await this.parts.return(undefined);
      return;
    }
    response.writeHead(status, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      // nginx would collect the events in a buffer.
      'X-Accel-Buffering': 'no',
    });
    if (response.req.method === 'HEAD') {
      response.end();
      await this.parts.return(undefined);
      return;
    }
    response.flushHeaders();
    // A client that closes its side has left, because a stream has no end to wait for.
    const { socket } = response.req;
    const leave = (): void => void response.destroy();
    socket.once('end', leave);
    const closed = new AbortController();
    response.once('close', () => {
      socket.off('end', leave);
      closed.abort();
    });
    try {
      for await (const part of this.parts) {
        if (response.closed) break;
        // Fails instead of waiting, because the part is in memory already. The client reconnects.
        const shared = typeof part === 'string' ? undefined : part.buffer;
        requireRoomFor(Buffer.byteLength(part), shared);
        if (!response.write(part)) await once(response, 'drain', { signal: closed.signal });
      }
      if (!response.closed) response.end();
    } catch (error) {
      if (!response.closed) response.req.next?.(error);
    }
  }
}
