import { Actor } from '../../../framework/src/index.js';
import type { Service } from '../../../framework/src/app/service.js';
import { start } from '../../../framework/test/support/start.js';
import type { TestDatabase } from '../../../framework/test/support/test-database.js';
import { TOKEN } from '../../../framework/test/support/tokens.js';
import { AppModule, ToolsRepository } from './tools.js';

const actor = Actor.system('test');

export const ENVIRONMENT = {
  WEBHOOK_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_ALLOWED_NETWORKS: 'loopback',
};

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A replica of the service. */
export class WebhookService {
  private constructor(readonly service: Service) {}

  static async start(
    database: TestDatabase,
    environment: Readonly<Record<string, string>> = ENVIRONMENT,
  ): Promise<WebhookService> {
    return new WebhookService(await start(AppModule, database, environment));
  }

  async send(method: string, path: string, body?: object, token = TOKEN): Promise<Reply> {
    const response = await fetch(`http://127.0.0.1:${this.service.address.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? {} : JSON.parse(text)) as Reply['body'],
    };
  }

  /** Creates a webhook. */
  async listen(
    url: string,
    content: object = {},
  ): Promise<{ readonly id: string; readonly secret: string }> {
    const { status, body } = await this.send('POST', '/webhooks', { url, ...content });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body as { id: string; secret: string };
  }

  async find(id: string): Promise<Reply['body']> {
    return (await this.send('GET', `/webhooks/${id}`)).body;
  }

  async create(...ids: readonly (number | bigint)[]): Promise<void> {
    for (const id of ids) await this.tools.create({ id: BigInt(id), name: 'Saw' }, { actor });
  }

  async remove(id: number): Promise<void> {
    await this.tools.remove(BigInt(id), { actor });
  }

  async rename(id: number, name: string): Promise<void> {
    await this.tools.patch(BigInt(id), { name }, { actor });
  }

  async metrics(): Promise<string> {
    const { port } = this.service.management;
    return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  }

  stop(): Promise<void> {
    return this.service.stop();
  }

  private get tools(): ToolsRepository {
    return this.service.get(ToolsRepository);
  }
}
