import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** An address that leads now to this server, now to that one, as the address of a cluster does. */
export class MovingAddress {
  private readonly connections = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private target: URL,
  ) {
    server.on('connection', (client: Socket) => this.join(client));
  }

  static async to(target: string): Promise<MovingAddress> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new MovingAddress(server, new URL(target));
  }

  /** The URL of the database, by way of the address. */
  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** Leads to another server from now on; connections with the one before are cut. */
  leadTo(target: string): void {
    this.target = new URL(target);
    this.cut();
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
    const server = connect(Number(this.target.port), this.target.hostname);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.connections.add(socket);
      socket.on('error', () => other.destroy());
      socket.once('close', () => {
        this.connections.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
