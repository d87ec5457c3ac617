import { get } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { lastingPort } from '../support/lasting-port.js';
import { startNginx } from '../support/nginx.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { Replica } from '../support/replica.js';
import type { ReverseProxy } from '../support/reverse-proxy.js';

it('the longest Link passes nginx with its defaults, and can be followed', async () => {
  const [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
  let proxy: ReverseProxy | undefined;
  try {
    const replica = await Replica.start(workspace, { DATABASE_URL: postgres.url });
    const port = await lastingPort();
    proxy = await startNginx({
      folder: workspace.folder,
      template: 'test/faults/nginx-defaults.conf',
      port,
      values: { SERVICE: String(replica.port), PLAIN: String(await lastingPort()) },
    });
    const { ca } = proxy;
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
    await proxy?.stop();
    await workspace.remove();
    await postgres.stop();
  }
});
