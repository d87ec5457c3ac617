import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { FaultyLink } from '../support/faulty-link.js';
import { UnsteadyProxy } from '../support/unsteady-proxy.js';

/* What the command meets instead of the service, or on its way to it. Each of them ends with the test. */

/** A server that answers every request. */
export async function serve(listener: RequestListener, port = 0): Promise<string> {
  const server = createServer(listener).listen(port, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A connection that can be cut. */
export async function linkTo(target: string): Promise<FaultyLink> {
  const link = await FaultyLink.to(target);
  onTestFinished(() => link.close());
  return link;
}

export async function unsteady(...how: Parameters<typeof UnsteadyProxy.to>) {
  const proxy = await UnsteadyProxy.to(...how);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Makes an empty folder the working directory; resolves with what undoes that. */
export async function enterFolder(): Promise<() => Promise<void>> {
  const project = process.cwd();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-command-'));
  process.chdir(folder);
  return async () => {
    process.chdir(project);
    await rm(folder, { recursive: true, force: true });
  };
}
