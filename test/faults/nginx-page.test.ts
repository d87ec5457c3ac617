import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lastingPort } from '../support/lasting-port.js';
import { Workspace } from '../support/process.js';
import { startNginx } from '../support/reverse-proxy.js';
import type { ReverseProxy } from '../support/reverse-proxy.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/* The configuration of docs/nginx.md, with other ports and another certificate. */

let workspace: Workspace;
let service: TestService;
let proxy: ReverseProxy;
let port: number;

beforeAll(async () => {
  workspace = await Workspace.create();
  port = await lastingPort();
  service = await startTestService({
    environment: { PUBLIC_BASE_URL: `https://localhost:${port}/api`, TRUST_PROXY: '127.0.0.1' },
  });
  const template = join(workspace.folder, 'nginx.conf');
  await writeFile(template, await configurationOfPage());
  const values = { SERVICE: String(service.port) };
  proxy = await startNginx({ folder: workspace.folder, template, port, values });
});

afterAll(async () => {
  await proxy.stop();
  await service.stop();
  await workspace.remove();
});

async function configurationOfPage(): Promise<string> {
  const page = await readFile('docs/nginx.md', 'utf8');
  const [, block = ''] = /```nginx\n([^]*?)```/.exec(page) ?? [];
  const places = {
    '127.0.0.1:3000': '127.0.0.1:${SERVICE}',
    'listen 443 ssl': 'listen 127.0.0.1:${PORT} ssl',
    '/etc/ssl/plants.example.com.pem': '${FOLDER}/certificate.pem',
    '/etc/ssl/plants.example.com.key': '${FOLDER}/certificate.pem.key',
  };
  const filled = Object.entries(places).reduce((changed, [written, place]) => {
    expect(changed).toContain(written);
    return changed.replace(written, () => place);
  }, block);
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
pid \${FOLDER}/nginx.pid;
error_log stderr crit;
events {
  worker_connections 64;
}
http {
  access_log off;
  ${kinds.map((kind) => `${kind}_temp_path \${FOLDER}/${kind};`).join('\n  ')}
  ${filled}
}
`;
}

function send(
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const fields = { Authorization: `Bearer ${TOKEN}`, ...headers };
  const options = { host: 'localhost', port, ca: proxy.ca, path, method, headers: fields };
  return new Promise((resolve, reject) => {
    request(options, resolve).once('error', reject).end(body);
  });
}

it('creates come through, and lists whose Link has the prefix', async () => {
  for (const id of [1, 2]) {
    const plant = JSON.stringify({ id, name: 'Monstera' });
    const created = await send('POST', '/api/plants', plant, {
      'Content-Type': 'application/json',
    });
    expect(created.statusCode).toBe(200);
    expect(await json(created)).toEqual({ name: 'Monstera' });
  }
  const first = await send('GET', '/api/plants?limit=1');
  expect(await json(first)).toMatchObject([{ id: 1 }]);
  const [, next = ''] = /^<([^>]+)>/.exec(String(first.headers.link)) ?? [];
  const { pathname, search } = new URL(next, `https://localhost:${port}`);
  expect(pathname).toBe('/api/plants');
  expect(await json(await send('GET', pathname + search))).toMatchObject([{ id: 2 }]);
});

it('the docs page is there, and its document has the public address', async () => {
  const page = await send('GET', '/api/docs');
  expect(page.statusCode).toBe(200);
  expect(await text(page)).toContain('<html');
  expect(await json(await send('GET', '/api/openapi.json'))).toMatchObject({
    servers: [{ url: '/api' }, { url: `https://localhost:${port}/api` }],
  });
});

it('an import longer than other bodies comes through', async () => {
  const lines = Array.from({ length: 20_000 }, (_, n) =>
    JSON.stringify({ id: 1_000 + n, name: 'A plant with a name of some length' }),
  );
  const body = lines.join('\n');
  expect(body.length).toBeGreaterThan(1024 * 1024);
  const imported = await send('POST', '/api/plants/import', body, {
    'Content-Type': 'application/x-ndjson',
  });
  expect(await json(imported)).toMatchObject({ created: lines.length, refused: 0 });
});

it('a change is seen at once by a client that follows', async () => {
  const latest = await send('GET', '/api/changes/latest');
  const { position } = (await json(latest)) as { readonly position: number };
  const stream = await send('GET', `/api/changes?after=${position}`, undefined, {
    Accept: 'text/event-stream',
  });
  const plant = JSON.stringify({ id: 3, name: 'Ficus' });
  await send('POST', '/api/plants', plant, { 'Content-Type': 'application/json' });
  let events = '';
  for await (const part of stream.setEncoding('utf8')) {
    events += String(part);
    if (events.includes('\n\n') && events.includes('"Ficus"')) break;
  }
  expect(events).toContain('"kind":"created"');
});
