import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Faults of a connection: the toxics of Toxiproxy, https://github.com/Shopify/toxiproxy#toxics */
export type Toxic =
  /** Delays each chunk by this many milliseconds, plus up to `jitter`. */
  | { readonly kind: 'latency'; readonly milliseconds: number; readonly jitter: number }
  /** Limits the bytes per second. */
  | { readonly kind: 'bandwidth'; readonly bytesPerSecond: number }
  /** Delays the close of a connection. */
  | { readonly kind: 'slow_close'; readonly milliseconds: number }
  /** Drops all data, and closes connections after this many milliseconds, or never. */
  | { readonly kind: 'timeout'; readonly milliseconds: number | undefined }
  /** Resets connections when data is sent. */
  | { readonly kind: 'reset_peer' }
  /** Splits data into chunks of this many bytes. */
  | { readonly kind: 'slicer'; readonly bytes: number }
  /** Closes connections after this many bytes, also in the middle of a message. */
  | { readonly kind: 'limit_data'; readonly bytes: number }
  /** Refuses connections, and closes existing connections. */
  | { readonly kind: 'down' };

/** A TCP proxy whose faults can be changed at run time. */
export class FaultyLink {
  /** How many chunks and closes were affected. */
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

  /** The URL of the target through the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String(this.port);
    return url.href;
  }

  /** Switches to another server, like the address of a cluster, and cuts all connections. */
  leadTo(target: string): void {
    this.target = new URL(target);
    this.cut();
  }

  /** Sets the fault, also for existing connections. */
  poison(toxic: Toxic): void {
    this.toxic = toxic;
    if (toxic.kind === 'down') this.cut();
  }

  /** Drops delayed data together with its connections. */
  cure(): void {
    if (this.toxic?.kind === 'timeout') this.cut();
    this.cureNewConnections();
  }

  /** Connections whose data was dropped stay open, without an answer. */
  cureNewConnections(): void {
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
    // A reset is passed on as a reset.
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
          // In a separate packet.
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
