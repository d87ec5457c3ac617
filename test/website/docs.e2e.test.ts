import { createRequire } from 'node:module';
import { parse } from 'lossless-json';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as yaml from 'yaml';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

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
  it.each([
    ['/docs', 4],
    ['/docs/swagger-ui', 3],
  ])('loads all its files from its own path: %s', async (path, files) => {
    const page = await read(served(), path);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(references(page.text).length).toBeGreaterThan(files);
    const urls = references(page.text).map((url) => new URL(url, served().url + path).href);
    expect(urls.filter((url) => !url.startsWith(served().url))).toEqual([]);
    for (const url of new Set(urls.map((one) => one.replace(/#.*/, '')))) {
      expect(`${url} ${(await fetch(url)).status}`).toBe(`${url} 200`);
    }
  });

  it.each([
    ['/docs', 'Plant Store'],
    ['/docs/swagger-ui', 'Plant Store · Swagger UI'],
  ])('has the name of the service in its title: %s', async (path, title) => {
    expect((await read(served(), path)).text).toContain(`<title>${title}</title>`);
  });

  it('is the target of redirects from the root and from its path with a trailing slash', async () => {
    const { pathname } = new URL(`${served().url}/docs`);
    for (const path of ['/', '/docs/']) {
      const answer = await read(served(), path);
      expect(answer.status).toBe(302);
      expect(answer.headers.get('location')).toBe(pathname);
    }
  });

  it('leads within itself only to what is there', async () => {
    const { text } = await read(served(), '/docs');
    const anchors = references(text).filter((url) => url.startsWith('#'));
    expect(anchors.length).toBeGreaterThan(40);
    expect(references(text)).toContain('docs/swagger-ui');
    for (const anchor of anchors) expect(text).toContain(`id="${anchor.slice(1)}"`);
  });

  it('allows only files of the service', async () => {
    const policy = (await read(served(), '/docs')).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toContain('unsafe');
  });
});

describe('the docs page', () => {
  it('says that the start prints the token only where it does', async () => {
    expect((await read(service, '/docs')).text).not.toContain('npm start');
    expect((await read(service, '/docs')).text).toContain('Ask the operator for one.');
    const local = await startTestService({
      environment: { AUTH_TOKEN: 'plant-store-local-token-that-everybody-knows' },
    });
    try {
      expect((await read(local, '/docs')).text).toContain('<code>npm start</code> prints it');
    } finally {
      await local.stop();
    }
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
  it.each([
    '/docs',
    '/docs/swagger-ui-bundle.js',
    '/docs/reference.css',
    '/openapi.json',
    '/openapi.yaml',
  ])('are compressed for clients that accept gzip: %s', async (path) => {
    const ask = (encoding: string) =>
      service.request('GET', path, {
        anonymous: true,
        headers: { 'Accept-Encoding': encoding },
      });
    const [plain, gzipped, refused] = await Promise.all(
      ['identity', 'br, gzip', 'gzip;q=0'].map(ask),
    );
    expect(gzipped?.text).toBe(plain?.text);
    expect(gzipped?.headers.get('content-encoding')).toBe('gzip');
    for (const answer of [plain, refused]) {
      expect(answer?.headers.get('content-encoding')).toBeNull();
      expect(answer?.headers.get('etag')).not.toBe(gzipped?.headers.get('etag'));
    }
    for (const answer of [plain, gzipped]) {
      expect(answer?.headers.get('vary')).toBe('Accept-Encoding');
    }
    const length = (answer?: Answer) => Number(answer?.headers.get('content-length'));
    expect(length(gzipped)).toBeLessThan(length(plain) / 2.5);
  });

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
