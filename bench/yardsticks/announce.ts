import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';

/** Says where a yardstick listens, in the way in which the service does. */
export function announce(server: Pick<Server, 'address'>): void {
  const { address, port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', address: `${address}:${port}` })}\n`);
}
