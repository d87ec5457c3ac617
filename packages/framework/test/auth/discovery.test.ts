import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { satisfies } from 'semver';
import { expect, it, onTestFinished, vi } from 'vitest';
import { fetchDocument } from '../../src/auth/discovery.js';

/** Older versions know no proxies. */
const KNOWS_PROXIES = satisfies(process.versions.node, '^22.21.0 || >=24.5.0');

it('a document of the issuer comes through the proxy of the environment, if Node.js knows proxies and is told so', async () => {
  const asked: unknown[] = [];
  const proxy = createServer(({ url }, response) => {
    asked.push(url);
    response.end('{}');
  });
  onTestFinished(() => {
    vi.unstubAllEnvs();
    proxy.close();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  for (const name of ['HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, `http://127.0.0.1:${port}`);
  for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, '');
  const fetched = () =>
    fetchDocument(new URL('http://127.0.0.1:1/keys'), new AbortController().signal).then(
      (response) => response.text(),
      ({ code }: NodeJS.ErrnoException) => code,
    );

  vi.stubEnv('NODE_USE_ENV_PROXY', '0');
  expect(await fetched()).toBe('ECONNREFUSED');
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  expect(await fetched()).toBe(KNOWS_PROXIES ? '{}' : 'ECONNREFUSED');
  expect(asked).toEqual(KNOWS_PROXIES ? ['http://127.0.0.1:1/keys'] : []);
});
