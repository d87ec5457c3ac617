import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What can be wrong with a line: the toxics of Toxiproxy, https://github.com/Shopify/toxiproxy#toxics */
export type Toxic =
  /** Each piece is held back for so many milliseconds, and for up to `jitter` more. */
  | { readonly kind: 'latency'; readonly milliseconds: number; readonly jitter: number }
  /** So many bytes in a second, and no more. */
  | { readonly kind: 'bandwidth'; readonly bytesPerSecond: number }
  /** The other side learns late that a connection was closed. */
  | { readonly kind: 'slow_close'; readonly milliseconds: number }
  /** Nothing arrives; connections are closed after so many milliseconds, or never. */
  | { readonly kind: 'timeout'; readonly milliseconds: number | undefined }
  /** Connections are reset when something is sent. */
  | { readonly kind: 'reset_peer' }
  /** Everything arrives in pieces of so many bytes. */
  | { readonly kind: 'slicer'; readonly bytes: number }
  /** Connections are closed after so many bytes, wherever that is in a message. */
  | { readonly kind: 'limit_data'; readonly bytes: number }
  /** Nobody listens, and nobody did. */
  | { readonly kind: 'down' };

/** A line to a server, which can be made worse while it is in use. */
export class FaultyLink {
  /** How many pieces, or ends of a connection, did not pass as they would have. */
  harmed = 0;
  private toxic: Toxic | undefined;
  private readonly connections = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly port: number,
    private target: URL,
  ) {
    server.on('connection', (client: Socket) => this.join(client));
  }

  /** @param target URL of what is at the other end */
  static async to(target: string): Promise<FaultyLink> {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultyLink(server, (server.address() as AddressInfo).port, new URL(target));
  }

  /** The URL of the target, by way of the link. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String(this.port);
    return url.href;
  }

  /** Leads to another server from now on, as the address of a cluster does; its connections are cut. */
  leadTo(target: string): void {
    this.target = new URL(target);
    this.cut();
  }

  /** From now on; for what is under way as well. */
  poison(toxic: Toxic): void {
    this.toxic = toxic;
    if (toxic.kind === 'down') this.cut();
  }

  /** What it has held back is lost, as are the connections that it was to go out on. */
  cure(): void {
    if (this.toxic?.kind === 'timeout') this.cut();
    this.toxic = undefined;
  }

  async close(): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }

  private cut(): void {
    for (const socket of this.connections) socket.destroy();
  }

  private join(client: Socket): void {
    if (this.toxic?.kind === 'down') {
      client.resetAndDestroy();
      return;
    }
    const { hostname, port } = this.target;
    const server = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const socket of [client, server]) {
      socket.setNoDelay();
      this.connections.add(socket);
      socket.once('close', () => this.connections.delete(socket));
    }
    void this.carry(client, server);
    void this.carry(server, client);
  }

  /** One direction of a connection. */
  private async carry(from: Socket, to: Socket): Promise<void> {
    const line = { carried: 0 };
    // Those who leave without a word are left in the same way.
    from.on('error', () => to.destroy());
    to.on('error', () => from.destroy());
    try {
      for await (const bytes of from as AsyncIterable<Buffer>) {
        await this.pass(bytes, from, to, line);
      }
      if (this.toxic?.kind === 'slow_close') {
        this.harmed += 1;
        await sleep(this.toxic.milliseconds);
      }
      to.end();
    } catch {
      to.destroy();
    }
  }

  private async pass(
    bytes: Buffer,
    from: Socket,
    to: Socket,
    line: { carried: number },
  ): Promise<void> {
    const { toxic } = this;
    line.carried += bytes.length;
    if (toxic !== undefined && toxic.kind !== 'slow_close') this.harmed += 1;
    switch (toxic?.kind) {
      case undefined:
      case 'slow_close':
        to.write(bytes);
        return;
      case 'latency':
        await sleep(toxic.milliseconds + Math.random() * toxic.jitter);
        to.write(bytes);
        return;
      case 'bandwidth':
        await sleep((1_000 * bytes.length) / toxic.bytesPerSecond);
        to.write(bytes);
        return;
      case 'slicer':
        for (let start = 0; start < bytes.length; start += toxic.bytes) {
          to.write(bytes.subarray(start, start + toxic.bytes));
          // In a packet of its own.
          await new Promise(setImmediate);
        }
        return;
      case 'timeout':
        if (toxic.milliseconds === undefined) return;
        await sleep(toxic.milliseconds);
        from.destroy();
        to.destroy();
        return;
      case 'limit_data': {
        const allowed = Math.max(0, toxic.bytes - (line.carried - bytes.length));
        to.write(bytes.subarray(0, allowed));
        if (allowed < bytes.length) {
          to.end();
          from.destroy();
        }
        return;
      }
      case 'reset_peer':
      case 'down':
        from.resetAndDestroy();
        to.resetAndDestroy();
    }
  }
}
