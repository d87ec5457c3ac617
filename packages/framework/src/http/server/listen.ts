import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartupError } from '../../errors/startup.error.js';

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly variables: { readonly host: string; readonly port: string };
}

/**
 * Connections that the kernel queues, unless its own limit is lower (on Linux `net.core.somaxconn`). After an outage, more
 * clients than Node's default of 511 may connect at once, and the rest would retry after 1 s, 3 s and 7 s.
 */
const BACKLOG = 4_096;

export async function listen(server: Server, options: ListenOptions): Promise<AddressInfo> {
  const { host, port } = options;
  // Without a host, Node listens on `::` for both IP versions, and on 0.0.0.0 where the kernel has no IPv6.
  const everywhere = host === '::';
  server.listen({ port, backlog: BACKLOG, ...(!everywhere && { host }) });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StartupError(explain(error as NodeJS.ErrnoException, options), { cause: error });
  }
  return server.address() as AddressInfo;
}

/** An address for the log (RFC 3986, section 3.2.2). */
export function addressText({ address, family, port }: AddressInfo): string {
  return family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
}

function explain(
  { code }: NodeJS.ErrnoException,
  { host, port, variables }: ListenOptions,
): string {
  if (code === 'EADDRINUSE') {
    return `${variables.port}: port ${port} on ${host} is already in use: set ${variables.port} to a free port`;
  }
  if (code === 'EACCES') {
    return `${variables.port}: this user has no permission to listen on port ${port}: set ${variables.port} to one from 1024`;
  }
  return `${variables.host}: this machine cannot listen on ${host} (${code}): set ${variables.host} to an address of its own`;
}
