import { request as requestHttp } from 'node:http';
import type { Agent, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';

/** In bytes. */
const MAX_BODY = 1024;
const MAX_HEADER = 16 * 1024;

/** Interim responses (1xx). Each has a header of its own, and without a limit, they would keep the process busy until the timeout. */
const MAX_INTERIM = 16;

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The first bytes of the body, as text that PostgreSQL can store. */
  readonly body: string;
}

export interface Request {
  readonly url: URL;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
  readonly agent: Agent;
}

/** A response that is not read to its end. Its message is a sentence for the owner of the webhook. */
export class ResponseError extends Error {}

export class Exchange {
  /** What it waits for. */
  phase: 'connection' | 'TLS handshake' | 'response' = 'connection';

  /** @param beforeWrite is called each time that the request is about to be written, and may abort `signal` */
  constructor(
    private readonly signal: AbortSignal,
    private readonly beforeWrite: () => void,
  ) {}

  /** Resolves when the status and the beginning of the body are known. Rejects if there is no response. */
  async run({ url, body, ...options }: Request): Promise<Received> {
    const { signal } = this;
    const hasTls = url.protocol === 'https:';
    const request = (hasTls ? requestHttps : requestHttp)(url, {
      ...options,
      method: 'POST',
      maxHeaderSize: MAX_HEADER,
      signal,
    });
    let bytesBefore = 0;
    let interim = 0;
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        request
          .once('socket', (socket) => {
            bytesBefore = socket.bytesRead;
            this.watch(socket, hasTls);
          })
          .on('information', () => {
            interim += 1;
            if (interim <= MAX_INTERIM) return;
            request.destroy(new ResponseError('There are too many interim responses.'));
          })
          .once('response', resolve)
          .on('error', reject)
          // A connection that changes to another protocol ends without an error.
          .once('close', () => reject(new Error('closed')))
          .end(body);
      });
      const { statusCode: status = 0, headers } = response;
      return { status, headers, body: await beginningOf(response) };
    } catch (error) {
      // The receiver may have closed an idle connection before the request reached it.
      const isUnseen = request.reusedSocket && request.socket?.bytesRead === bytesBefore;
      if (isUnseen && !signal.aborted) return this.run({ url, body, ...options });
      throw error;
    }
  }

  private watch(socket: Socket, hasTls: boolean): void {
    const write = (): void => {
      this.phase = 'response';
      this.beforeWrite();
    };
    // An open connection is used many times, and would keep the listeners of all.
    if (!socket.connecting) {
      write();
      return;
    }
    this.phase = 'connection';
    // Node.js writes the request after these listeners.
    if (hasTls) socket.once('connect', () => (this.phase = 'TLS handshake'));
    socket.once(hasTls ? 'secureConnect' : 'connect', write);
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let rest = MAX_BODY;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += decoder.decode(chunk.subarray(0, rest), { stream: true });
      rest -= chunk.length;
      // Leaving the loop closes the connection: the body may be endless.
      if (rest < 0) break;
    }
  } catch {
    // The status counts, even if the body does not end in time.
  }
  return text.replaceAll('\0', '\uFFFD');
}
