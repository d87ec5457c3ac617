import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { ResponseMemory } from './response-memory.js';

const responseMemory = new ResponseMemory();

/**
 * Texts above this length become bytes before they are written, and need room: Node.js would keep up to three times as many
 * bytes for a long text that the kernel does not take at once.
 */
export const LONG = 16 * 1024;

/**
 * To be called before the header fields of a response are written.
 *
 * @param part the buffer of bytes that several responses send
 * @throws ServiceException `too-many-answers` if it is long and there is no room
 */
export function requireRoomFor(bytes: number, part?: object): void {
  if (bytes > LONG) responseMemory.requireRoom(bytes, part);
}

type Callback = (error?: Error | null) => void;

/** Makes a class of responses that counts what clients have not read, however it is written. */
export function boundedResponse(): typeof ServerResponse {
  return class BoundedResponse<Incoming extends IncomingMessage> extends ServerResponse<Incoming> {
    /** The kernel takes most responses at once. */
    override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
      const content = asBytes(chunk, encoding);
      super.end(content, encoding as BufferEncoding, done as Callback);
      if (this.socket !== null && this.socket.writableLength > 0) hold(this, content, encoding);
      return this;
    }

    /** Each chunk of a stream is held on its own. */
    override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
      if (this.socket === null || this.closed) {
        return super.write(chunk, encoding as BufferEncoding, done as Callback);
      }
      const content = asBytes(chunk, encoding);
      const release = hold(this, content, encoding);
      const callback = (typeof encoding === 'function' ? encoding : done) as Callback | undefined;
      return super.write(content, encodingOf(encoding) ?? 'utf8', (error) => {
        release();
        callback?.(error);
      });
    }
  };
}

function asBytes(chunk: unknown, encoding: unknown): unknown {
  const isLong = typeof chunk === 'string' && chunk.length > LONG;
  return isLong ? Buffer.from(chunk, encodingOf(encoding)) : chunk;
}

function encodingOf(encoding: unknown): BufferEncoding | undefined {
  return typeof encoding === 'string' ? (encoding as BufferEncoding) : undefined;
}

function hold(response: ServerResponse, content: unknown, encoding: unknown): () => void {
  if (typeof content === 'string') {
    return responseMemory.hold(response, Buffer.byteLength(content, encodingOf(encoding)));
  }
  if (!ArrayBuffer.isView(content)) return () => {};
  return responseMemory.hold(response, content.buffer.byteLength, content.buffer);
}
