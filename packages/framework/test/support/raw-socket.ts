import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterProcessTime, PATIENCE } from './patience.js';

/** An answer as it was received. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; a repeated header has its values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** After each of these, a wait may be over. */
const EVENTS = ['data', 'drain', 'end', 'close'] as const;

/** The other ends of connections within this process, by the port of the client. */
const accepted = new Map<number | undefined, Socket>();

subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket };
  accepted.set(socket.remotePort, socket);
});

/** A connection on which a test controls every byte. */
export class RawSocket {
  private received = Buffer.alloc(0);
  private readonly localPort: number | undefined;

  private constructor(private readonly socket: Socket) {
    this.localPort = socket.localPort;
    socket.setNoDelay();
    socket.on('data', (chunk: Buffer) => (this.received = Buffer.concat([this.received, chunk])));
    // Many tests expect a reset, which `close` reports.
    socket.on('error', () => {});
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawSocket(socket);
  }

  /** The end of the service, which runs in this process; tells what it has really read. */
  get peer(): Socket | undefined {
    return accepted.get(this.localPort);
  }

  /** What arrived and was not taken by {@link answer} yet. */
  get rest(): string {
    return this.received.toString('latin1');
  }

  /** Whether the service has ended the connection, in an orderly way or not. */
  get ended(): boolean {
    return this.socket.readableEnded || this.socket.closed;
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Stops reading, so that data stays in the kernel's buffers, and then in the service's. */
  stopReading(): void {
    this.socket.pause();
  }

  startReading(): void {
    this.socket.resume();
  }

  /** Reads and discards at least this many bytes, and stops reading again. */
  async skip(bytes: number): Promise<void> {
    let skipped = 0;
    this.socket.resume();
    await this.until(() => {
      skipped += this.received.length;
      this.received = Buffer.alloc(0);
      return skipped >= bytes;
    });
    this.socket.pause();
  }

  /** Half-closes the connection, and keeps reading. */
  sendEnd(): void {
    this.socket.end();
  }

  /** Sends as fast as the service reads, to the end or until a reset. Returns the number of bytes. */
  async flood(bytes: number, piece = Buffer.alloc(64 * 1024, 'x')): Promise<number> {
    let sent = 0;
    while (sent < bytes && this.socket.writable) {
      sent += piece.length;
      if (!this.socket.write(piece)) {
        await this.until(() => !this.socket.writable || !this.socket.writableNeedDrain);
      }
    }
    return sent;
  }

  /**
   * Takes the next answer off the line, interim ones (1xx) included; fails when none is complete in time, by the clock of `processTimeOf`.
   *
   * @param options.toHead the answer is one to HEAD, which has the length of a body but no body
   */
  async answer({ toHead = false, within = PATIENCE } = {}): Promise<RawAnswer> {
    let answer: RawAnswer | undefined;
    await this.until(() => (answer ??= this.take(toHead)) !== undefined || this.ended, within);
    if (answer === undefined) throw new Error(`no whole answer, but ${JSON.stringify(this.rest)}`);
    return answer;
  }

  /** Waits until the service has ended the connection; fails when it does not in time, by the clock of `processTimeOf`. */
  async end(within = PATIENCE): Promise<void> {
    await this.until(() => this.ended, within);
  }

  /** Closes the connection. */
  destroy(): void {
    this.socket.destroy();
  }

  /** Resets the connection, like a client that crashes. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  private until(reached: () => boolean, within = PATIENCE): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        cancel();
        for (const event of EVENTS) this.socket.off(event, look);
        outcome();
      };
      const look = () => reached() && settle(resolve);
      const giveUp = async () => {
        // After a stall of the event loop, what has arrived in time is read later than timers fire.
        for (let turn = 0; turn < 10 && !reached(); turn++) await nextTurn();
        settle(() => {
          if (reached()) resolve();
          else reject(new Error(`still open, with ${JSON.stringify(this.rest)}`));
        });
      };
      const cancel = afterProcessTime(within, () => void giveUp());
      for (const event of EVENTS) this.socket.on(event, look);
      look();
    });
  }

  private take(toHead: boolean): RawAnswer | undefined {
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
    const start = end + 4;
    const length = toHead ? 0 : Number(headers['content-length'] ?? 0);
    if (this.received.length < start + length) return undefined;
    const body = this.received.subarray(start, start + length).toString('utf8');
    this.received = this.received.subarray(start + length);
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }
}
