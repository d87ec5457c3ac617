import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastingPort } from '../support/lasting-port.js';
import { Workspace } from '../support/process.js';
import { startHaproxy, startNginx } from '../support/reverse-proxy.js';
import type { ReverseProxy } from '../support/reverse-proxy.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Sends a request whose sender accepts compressed answers. */
type Send = (method: string, headers?: Record<string, string>) => Promise<Answer>;

interface Answer {
  readonly status: number | undefined;
  readonly tag: string;
  readonly encoding: string | undefined;
  readonly text: string;
}

const PROXIES = {
  nginx: { start: startNginx, template: 'test/faults/nginx-gzip.conf' },
  haproxy: { start: startHaproxy, template: 'test/faults/haproxy-gzip.cfg' },
} as const;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await service.post({ id: 1, name: 'Monstera', tag: 'indoor' });
});

afterAll(() => service.stop());

async function behind(
  name: keyof typeof PROXIES,
  path: string,
  test: (send: Send) => Promise<void>,
): Promise<void> {
  const { start, template } = PROXIES[name];
  const workspace = await Workspace.create();
  const port = await lastingPort();
  let proxy: ReverseProxy | undefined;
  try {
    const values = { SERVICE: String(service.port) };
    proxy = await start({ folder: workspace.folder, template, port, values });
    const { ca } = proxy;
    await test(async (method, headers = {}) => {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const fields = { Authorization: `Bearer ${TOKEN}`, 'Accept-Encoding': 'gzip', ...headers };
        request({ host: 'localhost', port, ca, path, method, headers: fields }, resolve)
          .once('error', reject)
          .end();
      });
      const content = await buffer(answer);
      const encoding = answer.headers['content-encoding'];
      const text = String(encoding === 'gzip' ? gunzipSync(content) : content);
      return { status: answer.statusCode, tag: answer.headers.etag ?? '', encoding, text };
    });
  } finally {
    await proxy?.stop();
    await workspace.remove();
  }
}

describe('an nginx that compresses', () => {
  it('weakens the tag, and the answer to If-Match says so', async () => {
    await behind('nginx', '/plants/1', async (send) => {
      const { tag, encoding } = await send('GET');
      expect(encoding).toBe('gzip');
      expect(tag).toMatch(/^W\//);
      const refused = await send('DELETE', { 'If-Match': tag });
      expect(refused.status).toBe(412);
      expect(refused.text).toContain('nginx makes it weak');
      expect((await send('GET', { 'If-None-Match': tag })).status).toBe(304);
    });
  });

  it('passes the tag on where it does not compress', async () => {
    await behind('nginx', '/exact/plants/1', async (send) => {
      const { tag } = await send('GET');
      expect((await send('GET', { 'If-Match': tag })).status).toBe(200);
    });
  });
});

describe('an HAProxy that compresses', () => {
  it('compresses lists', async () => {
    await behind('haproxy', '/plants', async (send) => {
      expect((await send('GET')).encoding).toBe('gzip');
    });
  });

  it('leaves answers with a tag alone, so that conditional changes succeed', async () => {
    await behind('haproxy', '/plants/1', async (send) => {
      const { tag, encoding } = await send('GET');
      expect(encoding).toBeUndefined();
      expect((await send('DELETE', { 'If-Match': tag })).status).toBe(204);
    });
  });
});
