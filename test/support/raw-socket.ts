import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** One answer, as it came over the line. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; a repeated header has its values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection on which a test decides every byte. */
export class RawSocket {
  private received = Buffer.alloc(0);
  private closedAt: number | undefined;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.received = Buffer.concat([this.received, chunk])));
    socket.on('error', () => {});
    socket.on('close', () => (this.closedAt = performance.now()));
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawSocket(socket);
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** What arrived and was not taken by {@link answer} yet. */
  get rest(): string {
    return this.received.toString('latin1');
  }

  get closed(): boolean {
    return this.closedAt !== undefined;
  }

  /** Takes the next answer off the line, interim ones (1xx) included; fails when none is complete in time. */
  async answer(milliseconds = 10_000): Promise<RawAnswer> {
    const deadline = performance.now() + milliseconds;
    for (;;) {
      const answer = this.take();
      if (answer !== undefined) return answer;
      const left = deadline - performance.now();
      if (left <= 0 || this.closed) {
        throw new Error(`no whole answer, but: ${JSON.stringify(this.rest)}`);
      }
      await this.next(left);
    }
  }

  /** Waits until the other side has ended the connection; says after how many milliseconds. */
  async end(milliseconds = 10_000): Promise<number> {
    const start = performance.now();
    if (!this.socket.readableEnded && !this.closed) {
      await Promise.race([
        once(this.socket, 'end'),
        once(this.socket, 'close'),
        once(this.socket, 'error').then(() => once(this.socket, 'close')),
        after(milliseconds),
      ]);
    }
    return performance.now() - start;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private async next(milliseconds: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([
      once(this.socket, 'data', { signal: timer.signal }),
      once(this.socket, 'close', { signal: timer.signal }),
      new Promise((resolve) => setTimeout(resolve, milliseconds).unref()),
    ]).finally(() => timer.abort());
  }

  private take(): RawAnswer | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [statusLine = '', ...lines] = this.received
      .subarray(0, end)
      .toString('latin1')
      .split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
      const key = name.toLowerCase();
      headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
    }
    const length = Number(headers['content-length'] ?? 0);
    const start = end + 4;
    if (this.received.length < start + length) return undefined;
    const body = this.received.subarray(start, start + length).toString('utf8');
    this.received = this.received.subarray(start + length);
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }
}

function after(milliseconds: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error('the connection is still open')), milliseconds).unref();
  });
}
