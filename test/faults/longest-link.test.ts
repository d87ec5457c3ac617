import { get } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { startDefaultNginx } from '../support/reverse-proxy.js';

it('the longest Link passes nginx with its defaults, and can be followed', async ({
  workspace,
  postgres,
  replica,
}) => {
  const proxy = await startDefaultNginx(workspace, replica);
  const { ca, port } = proxy;
  try {
    const open = (path: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { Authorization: `Bearer ${TOKEN}`, Origin: 'https://shop.example.com' };
        get({ host: 'localhost', port, ca, path, headers }, resolve).once('error', reject);
      });
    // 1,996 bytes, percent-encoded.
    const tag = `${'花'.repeat(221)}1234567`;
    await postgres.query(
      `INSERT INTO plants SELECT 9223372036854775800 + n, 'Plant ' || n, '${tag}' FROM generate_series(1, 3) n`,
    );
    const found: unknown[] = [];
    let next: string | undefined = `/plants?limit=1&tag=${encodeURIComponent(tag)}`;
    while (next !== undefined) {
      const answer: IncomingMessage = await open(next);
      expect(answer.statusCode).toBe(200);
      found.push(...((await json(answer)) as unknown[]));
      next = /^<([^>]+)>/.exec(String(answer.headers['link']))?.[1];
    }
    expect(found).toHaveLength(3);
    const exported = await open(`/plants/export?tag=${encodeURIComponent(tag)}`);
    expect(exported.statusCode).toBe(200);
    exported.resume();
  } finally {
    await proxy.stop();
  }
});
