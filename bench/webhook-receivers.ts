import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/* A process with the receivers of all webhooks: those below /hanging never respond. Sends its port. */

const server = createServer((request, response) => {
  request.resume();
  if (request.url?.startsWith('/hanging') !== true) response.writeHead(204).end();
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// The benchmark has ended.
process.once('disconnect', () => process.exit());
