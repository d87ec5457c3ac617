import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Sender } from '../../src/outgoing/sender.js';
import { breakReused, message, SECRET, startRawReceiver, startReceiver } from './receiver.js';

const TIMEOUT = 15_000;

let certificate: { readonly cert: string; readonly key: string };
let sender: Sender;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-tls-'));
  const file = (name: string) => join(folder, name);
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
  const subject =
    '-subj /CN=receiver -addext subjectAltName=DNS:receiver.test,IP:127.0.0.1 -days 2';
  const files = ['-keyout', file('key.pem'), '-out', file('cert.pem')];
  await promisify(execFile)('openssl', [...`req -x509 ${key} ${subject}`.split(' '), ...files]);
  certificate = {
    cert: await readFile(file('cert.pem'), 'utf8'),
    key: await readFile(file('key.pem'), 'utf8'),
  };
  await rm(folder, { recursive: true });
});

beforeEach(() => {
  sender = new Sender({
    allowedNetworks: '127.0.0.1/32',
    allowsHttpOnLoopback: false,
    timeout: TIMEOUT,
  });
  resolveTo(['127.0.0.1']);
});

afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await sender.close();
});

/** Each look-up gives the next addresses, and the last ones for ever. */
function resolveTo(...responses: readonly (readonly string[])[]) {
  const rest = [...responses];
  vi.spyOn(Resolver.prototype, 'resolve6').mockRejectedValue(new Error('queryAaaa ENODATA'));
  return vi
    .spyOn(Resolver.prototype, 'resolve4')
    .mockImplementation((() => Promise.resolve(rest.length > 1 ? rest.shift() : rest[0])) as never);
}

/** As NODE_EXTRA_CA_CERTS, which Node.js reads at its start only. */
function trust(ca: string) {
  const { connect } = tls;
  vi.spyOn(tls, 'connect').mockImplementation(((options: ConnectionOptions) =>
    connect({ ...options, ca })) as never);
}

const send = (url: string) => sender.send(url, message(), [SECRET], new AbortController().signal);
const failed = (reason: string) => ({ kind: 'failed', reason });

describe('a receiver with TLS', () => {
  it('gets messages if its certificate is valid for its name', async () => {
    trust(certificate.cert);
    const { port, requests } = await startReceiver(undefined, certificate);
    const delivered = { kind: 'delivered', status: 204 };
    expect(await send(`https://receiver.test:${port}/`)).toEqual(delivered);
    expect(await send(`https://127.0.0.1:${port}/`)).toEqual(delivered);
    expect(requests.map(({ headers }) => headers.host)).toEqual([
      `receiver.test:${port}`,
      `127.0.0.1:${port}`,
    ]);
  });

  it('gets a message again if it has closed the open connection meanwhile', async () => {
    trust(certificate.cert);
    const { port, requests } = await startReceiver(breakReused(), certificate);
    for (let n = 0; n < 2; n += 1) {
      expect(await send(`https://receiver.test:${port}/`)).toMatchObject({ kind: 'delivered' });
    }
    expect(requests).toHaveLength(3);
  });

  it('gets nothing if its certificate is of another name', async () => {
    trust(certificate.cert);
    const { port, requests } = await startReceiver(undefined, certificate);
    expect(await send(`https://other.test:${port}/`)).toEqual(
      failed('The TLS handshake failed (ERR_TLS_CERT_ALTNAME_INVALID).'),
    );
    expect(requests).toEqual([]);
  });

  it('gets nothing if nobody trusts its certificate, whatever the environment says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const { port, requests } = await startReceiver(undefined, certificate);
    expect(await send(`https://receiver.test:${port}/`)).toEqual(
      failed('The TLS handshake failed (DEPTH_ZERO_SELF_SIGNED_CERT).'),
    );
    expect(requests).toEqual([]);
  });

  it('gets nothing from a delivery that is stopped when the handshake has ended', async () => {
    trust(certificate.cert);
    const { port, requests } = await startReceiver(undefined, certificate);
    const url = `https://receiver.test:${port}/`;
    const controller = new AbortController();
    const sockets: TLSSocket[] = [];
    const stopped = sender.send(url, message(), [SECRET], controller.signal, () => {
      sockets.push(vi.mocked(tls.connect).mock.results[0]!.value as TLSSocket);
      controller.abort(new Error('no lease'));
    });
    await expect(stopped).rejects.toThrow('no lease');
    expect(sockets.map(({ authorized }) => authorized)).toEqual([true]);
    expect(await send(url)).toMatchObject({ kind: 'delivered' });
    expect(requests).toHaveLength(1);
  });

  it('has a timeout for the handshake', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { port } = await startRawReceiver((socket) =>
      socket.once('data', () => vi.advanceTimersByTime(TIMEOUT)),
    );
    expect(await send(`https://receiver.test:${port}/`)).toEqual(
      failed('No TLS handshake within 15 s.'),
    );
  });

  it('has a timeout for the look-up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    vi.spyOn(Resolver.prototype, 'resolve4').mockImplementation(() => {
      vi.advanceTimersByTime(TIMEOUT);
      return new Promise<never>(() => undefined);
    });
    expect(await send('https://receiver.test/')).toEqual(failed('No connection within 15 s.'));
  });

  it('is told from one without', async () => {
    const { port } = await startReceiver();
    expect(await send(`https://receiver.test:${port}/`)).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching(/^The TLS handshake failed \(\w+\)\.$/) as string,
    });
  });
});

describe('a name', () => {
  it('that leads elsewhere at the second look is refused there', async () => {
    trust(certificate.cert);
    const { port, server, requests } = await startReceiver(
      (response) => response.writeHead(204, { Connection: 'close' }).end(),
      certificate,
    );
    const resolve = resolveTo(['127.0.0.1'], ['127.0.0.2']);
    const url = `https://receiver.test:${port}/`;
    expect(await send(url)).toMatchObject({ kind: 'delivered' });
    // One look for each connection: what was checked is what it leads to.
    expect(resolve).toHaveBeenCalledTimes(1);
    let connections = 0;
    server.on('connection', () => (connections += 1));
    expect(await send(url)).toEqual(failed('The address leads to a private or reserved network.'));
    expect(resolve).toHaveBeenCalledTimes(2);
    expect([connections, requests.length]).toEqual([0, 1]);
  });
});
