import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { parse } from 'lossless-json';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as yaml from 'yaml';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

let service: TestService;
let below: TestService;

beforeAll(async () => {
  service = await startTestService();
  below = await startTestService({
    environment: { PUBLIC_BASE_URL: 'https://shop.example.com/store/api/' },
  });
});

afterAll(() => Promise.all([service.stop(), below.stop()]));

const read = (from: TestService, path: string) => from.request('GET', path, { anonymous: true });

/** The URLs in a page. */
function references(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '');
}

describe.each([
  ['at the root', () => service],
  ['below a path', () => below],
])('the docs page %s', (_name, served) => {
  it('loads all its files from its own path', async () => {
    const page = await read(served(), '/docs');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(references(page.text).length).toBeGreaterThan(4);
    for (const reference of references(page.text)) {
      const { origin, pathname } = new URL(reference, `${served().url}/docs`);
      expect(served().url).toContain(origin);
      const { status } = await read(
        served(),
        pathname.slice(new URL(served().url).pathname.replace(/\/$/, '').length),
      );
      expect(`${reference} ${status}`).toBe(`${reference} 200`);
    }
  });

  it('is the target of redirects from the root and from its path with a trailing slash', async () => {
    const { pathname } = new URL(`${served().url}/docs`);
    for (const path of ['/', '/docs/']) {
      const answer = await read(served(), path);
      expect(answer.status).toBe(302);
      expect(answer.headers.get('location')).toBe(pathname);
    }
  });

  it.each(['README.md', 'LICENSE'])('has the %s of what runs', async (file) => {
    const answer = await read(served(), `/docs/${file}`);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.text).toBe(await readFile(file, 'utf8'));
  });

  it('allows only files of the service', async () => {
    const policy = (await read(served(), '/docs')).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toContain('unsafe');
  });
});

describe('the document', () => {
  it('lists the path first, so that requests go to the origin of the page', async () => {
    expect((await read(below, '/openapi.json')).json['servers']).toMatchObject([
      { url: '/store/api' },
      { url: 'https://shop.example.com/store/api' },
    ]);
  });

  it('is equal in YAML, with all digits', async () => {
    const answer = await read(service, '/openapi.yaml');
    expect(answer.headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(answer.text).toContain('maximum: 9223372036854775807');
    expect(answer.text).toContain('minimum: -9223372036854775808');
    const exact = (text: string) => yaml.parse(text, { intAsBigInt: true }) as unknown;
    expect(exact(answer.text)).toEqual(
      parse((await read(service, '/openapi.json')).text, undefined, BigInt),
    );
  });
});

describe('the docs', () => {
  it('are sent again only when they have changed', async () => {
    const first = await read(service, '/docs/page.js');
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[\w-]{43}"$/);
    expect(first.headers.get('cache-control')).toBe('no-cache');
    // Modification times do not help: they go back after a rollback.
    expect(first.headers.get('last-modified')).toBeNull();
    for (const [name, value, status] of [
      ['If-None-Match', tag, 304],
      ['If-None-Match', '"another"', 200],
      ['If-Modified-Since', new Date().toUTCString(), 200],
    ] as const) {
      const answer = await service.request('GET', '/docs/page.js', {
        anonymous: true,
        // Like a browser. `fetch` would add no-cache.
        headers: { [name]: value, 'Cache-Control': 'max-age=0' },
      });
      expect(answer.status).toBe(status);
      expect(answer.text).toBe(status === 304 ? '' : first.text);
    }
  });

  it('use the installed Swagger UI', () => {
    const require = createRequire(import.meta.url);
    const theirs = createRequire(require.resolve('@nestjs/swagger'));
    expect(require.resolve('swagger-ui-dist/package.json')).toBe(
      theirs.resolve('swagger-ui-dist/package.json'),
    );
  });

  it.each([
    ['Range', 'bytes=99999999-'],
    ['If-Match', '"x"'],
    ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ])('are sent completely, with any %s', async (name, value) => {
    const answer = await service.request('GET', '/docs/swagger-ui.css', {
      anonymous: true,
      headers: { [name]: value },
    });
    expect(answer.status).toBe(200);
  });

  it('can be switched off without the API', async () => {
    const quiet = await startTestService({ environment: { DOCS_ENABLED: 'false' } });
    try {
      for (const path of ['/', '/docs', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml']) {
        expect((await quiet.request('GET', path)).json['error']).toBe(40400);
      }
      expect((await quiet.post({ id: 1, name: 'a' })).status).toBe(200);
    } finally {
      await quiet.stop();
    }
  });
});
