import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Stands between the service and PostgreSQL. */
export interface Pooler {
  readonly url: string;
  stop(): Promise<void>;
}

/** The message that names the process (PostgreSQL manual, chapter 54.7). */
const BACKEND_KEY_DATA = 'K'.charCodeAt(0);

/**
 * Acts like a pooler, whose clients share sessions: the process id that it sends is not PostgreSQL's.
 */
export async function startPooler(databaseUrl: string): Promise<Pooler> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    client.pipe(database);
    let received: Buffer = Buffer.alloc(0);
    const greet = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      for (let message = take(); message !== undefined; message = take()) {
        const isKey = message[0] === BACKEND_KEY_DATA;
        if (isKey) message.writeInt32BE(message.readInt32BE(5) ^ 0x4000_0000, 5);
        client.write(message);
        if (!isKey) continue;
        database.off('data', greet);
        client.write(received);
        database.pipe(client);
        return;
      }
    };
    const take = (): Buffer | undefined => {
      if (received.length < 5 || received.length < 1 + received.readInt32BE(1)) return undefined;
      const message = received.subarray(0, 1 + received.readInt32BE(1));
      received = received.subarray(message.length);
      return message;
    };
    database.on('data', greet);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
