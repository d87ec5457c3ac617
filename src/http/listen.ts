import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartupError } from '../errors/startup.error.js';

/** Where to listen, and the variables that said so. */
interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly variables: { readonly host: string; readonly port: string };
}

/**
 * Connections that the system makes before the process takes them; it allows fewer where its own bound is
 * lower (on Linux `net.core.somaxconn`). Node's 511 are not even as many clients as come back after an outage,
 * and those beyond try again after 1 s, 3 s, 7 s.
 */
const BACKLOG = 4_096;

/**
 * Begins to listen.
 *
 * @throws StartupError when the address cannot be had
 */
export async function listen(server: Server, options: ListenOptions): Promise<AddressInfo> {
  const { host, port } = options;
  server.listen({ port, host, backlog: BACKLOG });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StartupError(explain(error as NodeJS.ErrnoException, options), { cause: error });
  }
  return server.address() as AddressInfo;
}

function explain(
  { code }: NodeJS.ErrnoException,
  { host, port, variables }: ListenOptions,
): string {
  if (code === 'EADDRINUSE') {
    return `${variables.port}: port ${port} on ${host} is taken by another program`;
  }
  if (code === 'EACCES') {
    return `${variables.port}: this account may not listen on port ${port}`;
  }
  return `${variables.host}: this machine cannot listen on ${host} (${code})`;
}
