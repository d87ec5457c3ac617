import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { OPERATIONS } from '../support/operations.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { ISSUER_FAULTS } from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const CLIENT_ID = 'plant-store-docs';

const ENDPOINTS = {
  authorization_endpoint: 'https://id.example.com/authorize',
  token_endpoint: 'https://tokens.example.com/token?tenant=1',
};

let issuer: TestIssuer;

beforeAll(async () => {
  issuer = await startTestIssuer();
  issuer.discovery = ENDPOINTS;
});

afterAll(() => issuer.close());

const services: TestService[] = [];

afterEach(async () => {
  issuer.recover();
  issuer.discovery = ENDPOINTS;
  await Promise.all(services.splice(0).map((service) => service.stop()));
});

async function start(environment: Record<string, string> = {}): Promise<TestService> {
  const service = await startTestService({
    environment: {
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: 'plants',
      AUTH_JWT_DEFAULT_SCOPES: 'none',
      ...environment,
    },
  });
  services.push(service);
  return service;
}

const read = (from: TestService, path: string) => from.request('GET', path, { anonymous: true });

const policyOf = async (from: TestService, path: string) => {
  const { headers } = await read(from, path);
  return headers.get('content-security-policy')?.split('; ') ?? [];
};

describe('without DOCS_OAUTH_CLIENT_ID', () => {
  it('nothing tells that one could sign in', async () => {
    const service = await start();
    const page = await read(service, '/docs');
    expect(page.text).not.toMatch(/sign.?in|oauth|openid/i);
    for (const path of ['sign-in', 'sign-in/sign-in.js', 'sign-in/oauth4webapi.js']) {
      expect((await read(service, `/docs/${path}`)).json['error']).toBe(40400);
    }
    expect(issuer.requests).toEqual([]);
  });
});

describe('the page that signs in', () => {
  it('may connect to the token endpoint, and the docs page may not', async () => {
    const service = await start({ DOCS_OAUTH_CLIENT_ID: CLIENT_ID });
    const policy = await policyOf(service, '/docs/sign-in');
    const ofDocs = await policyOf(service, '/docs');
    expect(ofDocs).toContain("connect-src 'self'");
    expect(policy).toEqual(
      ofDocs.map((directive) =>
        directive === "connect-src 'self'"
          ? "connect-src 'self' https://tokens.example.com"
          : directive,
      ),
    );
  });

  it('loads all its files from its own path, and is not cached', async () => {
    const service = await start({
      DOCS_OAUTH_CLIENT_ID: CLIENT_ID,
      PUBLIC_BASE_URL: 'https://shop.example.com/store/api',
    });
    const { text, headers } = await read(service, '/docs/sign-in');
    expect(headers.get('cache-control')).toBe('no-store');
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '');
    expect(links.join()).toContain('sign-in.js');
    for (const link of links) {
      const { status } = await fetch(new URL(link, `${service.url}/docs/sign-in`));
      expect(`${link} ${status}`).toBe(`${link} 200`);
    }
    const library = await read(service, '/docs/sign-in/oauth4webapi.js');
    expect(library.text).toContain('export async function authorizationCodeGrantRequest');
  });

  it.each([
    ['https://plants.example.com/', 'https://plants.example.com/'],
    ['urn:plants', 'urn:plants'],
    ['plants', undefined],
    ['https://plants.example.com/#a', undefined],
  ])('names the audience %s as the resource %s', async (audience, resource) => {
    const service = await start({
      DOCS_OAUTH_CLIENT_ID: CLIENT_ID,
      AUTH_JWT_AUDIENCE: audience,
    });
    const { text } = await read(service, '/docs/sign-in');
    const [, json = ''] = /data-settings="([^"]*)"/.exec(text) ?? [];
    const settings = JSON.parse(json.replaceAll('&quot;', '"')) as Record<string, unknown>;
    expect(settings).toMatchObject({ audience, clientId: CLIENT_ID });
    expect(settings['resource']).toBe(resource);
    const scopes = new Set(OPERATIONS.map(({ scope }) => scope));
    expect(String(settings['scope']).split(' ').toSorted()).toEqual(
      ['openid', ...scopes].toSorted(),
    );
  });

  it('asks the issuer once for many readers', async () => {
    const service = await start({ DOCS_OAUTH_CLIENT_ID: CLIENT_ID });
    const before = issuer.asked('discovery');
    await Promise.all(Array.from({ length: 20 }, () => read(service, '/docs/sign-in')));
    expect(issuer.asked('discovery') - before).toBe(1);
  });
});

describe('an issuer at which nobody can sign in', () => {
  it.each([
    ['is out of reach', () => issuer.behave('discovery', ISSUER_FAULTS['hangs up']!)],
    [
      'has no authorization endpoint',
      () => (issuer.discovery = { token_endpoint: ENDPOINTS.token_endpoint }),
    ],
    [
      'names a script',
      () => (issuer.discovery = { ...ENDPOINTS, authorization_endpoint: 'javascript:alert(1)' }),
    ],
    [
      'asks for tokens without TLS',
      () => (issuer.discovery = { ...ENDPOINTS, token_endpoint: 'http://id.example.com/' }),
    ],
    ['has another name', () => (issuer.discovery = { ...ENDPOINTS, issuer: 'https://other/' })],
  ])('%s: the page and the log say so, until it recovers', async (_name, fail) => {
    fail();
    const service = await start({ DOCS_OAUTH_CLIENT_ID: CLIENT_ID });
    const page = await read(service, '/docs/sign-in');
    expect(page.status).toBe(503);
    const { host } = new URL(issuer.url);
    expect(page.text).toContain(`${host} gave the service no valid response`);
    expect(page.headers.get('content-security-policy')).toContain("connect-src 'self';");
    expect(service.log).toContainEqual(
      expect.objectContaining({ msg: 'nobody can sign in', reason: expect.any(String) }),
    );
    expect((await read(service, '/docs')).status).toBe(200);
    issuer.recover();
    issuer.discovery = ENDPOINTS;
    await vi.waitUntil(async () => (await read(service, '/docs/sign-in')).status === 200, PATIENCE);
  });
});
