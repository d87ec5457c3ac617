import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchDocument } from '../src/auth/fetch-document.js';

let server: Server;
let address: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    response.end(request.url === '/long' ? 'x'.repeat(2 * 1024 ** 2) : request.headers.accept);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

describe('a document of the issuer', () => {
  it('has its status', async () => {
    const response = await fetchDocument(new URL(`http://${address}/`), AbortSignal.timeout(5_000));
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('application/json, application/jwk-set+json');
  });

  it('is refused when it is too large', async () => {
    await expect(
      fetchDocument(new URL(`http://${address}/long`), AbortSignal.timeout(5_000)),
    ).rejects.toThrow(/too large/);
  });

  it('is fetched over TLS from an https URL', async () => {
    await expect(
      fetchDocument(new URL(`https://${address}/`), AbortSignal.timeout(5_000)),
    ).rejects.toMatchObject({
      code: expect.stringMatching(/SSL|EPROTO/),
    });
  });
});
