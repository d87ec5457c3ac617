import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TOKEN } from '../support/test-service.js';
import { PlantStore } from '../../dist-client/dist/plant-store.js';
import type { PlantStoreOptions } from '../../dist-client/dist/plant-store.js';

/** Answers a request, or does not. */
export type Reply = (response: ServerResponse) => void;

/** Refuses a request as the service does. */
export const refuse =
  (error: number, fields = {}): Reply =>
  (response) =>
    response
      .writeHead(Number(String(error).slice(0, 3)), fields)
      .end(JSON.stringify({ error, message: 'no' }));

/** A server that answers as a proxy or a failing service may. */
export class FrontServer implements AsyncDisposable {
  private readonly server;

  private constructor(listener: RequestListener) {
    this.server = createServer(listener).listen(0, '127.0.0.1');
  }

  static async start(listener: RequestListener): Promise<FrontServer> {
    const front = new FrontServer(listener);
    await once(front.server, 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  store(options: Partial<PlantStoreOptions> = {}): PlantStore {
    return new PlantStore({ url: this.url, token: TOKEN, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
