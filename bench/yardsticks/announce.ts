import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';

/** Logs the address of a yardstick like the service. */
export function announce(server: Pick<Server, 'address'>): void {
  const { address, port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', address: `${address}:${port}` })}\n`);
}
