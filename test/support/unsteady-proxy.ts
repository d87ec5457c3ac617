import { once } from 'node:events';
import { createServer, request as requestHttp } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to a request. */
export type Mishap =
  /** The service does not see it. */
  | 'bad gateway'
  | 'too many requests'
  | 'unavailable'
  /** The service does what it asks, and the connection breaks before the answer. */
  | 'answer lost'
  /** The connection breaks after half of the answer. */
  | 'answer cut'
  /** The answer ends after its first half, as when a service dies to which the proxy speaks HTTP/1.0. */
  | 'answer halved'
  | 'none';

/** A reverse proxy with a mishap for each request, in turn; afterwards it passes all requests on. */
export class UnsteadyProxy {
  /** Length of each body that arrived. */
  readonly bodies: number[] = [];

  private constructor(
    private readonly server: Server,
    private readonly target: string,
    private readonly mishaps: Mishap[],
    private readonly maxBody: number,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.handle(request, response);
    });
  }

  /** @param maxBody longest body that is passed on, in bytes */
  static async to(
    target: string,
    mishaps: readonly Mishap[] = [],
    maxBody = Infinity,
  ): Promise<UnsteadyProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new UnsteadyProxy(server, target, [...mishaps], maxBody);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Whether every mishap has happened. */
  get isDone(): boolean {
    return this.mishaps.length === 0;
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const mishap = this.mishaps.shift() ?? 'none';
    const body = await bytesOf(request);
    this.bodies.push(body.length);
    if (body.length > this.maxBody) {
      response.writeHead(413, { 'Content-Type': 'text/html' }).end('<h1>413 Too Large</h1>');
      return;
    }
    if (mishap === 'bad gateway') {
      response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
      return;
    }
    if (mishap === 'too many requests' || mishap === 'unavailable') {
      const status = mishap === 'unavailable' ? 503 : 429;
      response.writeHead(status, { 'Retry-After': '1' }).end();
      return;
    }
    const { method, url = '', headers } = request;
    const forwarded = requestHttp(this.target + url, { method, headers }).end(body);
    const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
    const content = await bytesOf(answer);
    if (mishap === 'answer lost') {
      response.destroy();
      return;
    }
    response.writeHead(answer.statusCode ?? 500, {
      'Content-Type': answer.headers['content-type'],
    });
    const half = content.subarray(0, content.length / 2);
    if (mishap === 'none') response.end(content);
    else if (mishap === 'answer halved') response.end(half);
    else response.write(half, () => response.destroy());
  }
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
