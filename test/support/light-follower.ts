import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { TOKEN } from './crowd.js';

/** A follower on a bare connection, of which there can be a thousand in a process. It can stop to read. */
export class LightFollower {
  /** Of the last event that it has read. */
  position: number;
  isClosed = false;
  private text = '';
  private readonly socket: Socket;

  /**
   * @param after the last position that it knows
   * @param onEvent called with the id of each plant that has changed
   */
  constructor(
    port: number,
    after: number,
    private readonly onEvent: (plant: string) => void = () => {},
  ) {
    this.position = after;
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => this.read(text));
    this.socket.on('error', () => {});
    this.socket.on('close', () => (this.isClosed = true));
    this.socket.write(
      `GET /changes?after=${after} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nAccept: text/event-stream\r\n\r\n`,
    );
  }

  /** Does not read what arrives from now on. */
  pause(): void {
    this.socket.pause();
  }

  /** Reads on: also what arrived meanwhile. */
  resume(): void {
    this.socket.resume();
  }

  leave(): void {
    this.socket.destroy();
  }

  private read(text: string): void {
    this.text += text;
    const end = this.text.lastIndexOf('\n\n');
    if (end === -1) return;
    for (const [, position, plant] of this.text
      .slice(0, end)
      .matchAll(/^id: (\d+)\r?\ndata: .*?"id":(-?\d+)/gm)) {
      this.position = Number(position);
      this.onEvent(plant!);
    }
    this.text = this.text.slice(end + 2);
  }
}
