import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { AddressError } from '../../src/outgoing/networks.js';
import { Sender } from '../../src/outgoing/sender.js';
import { Targets } from '../../src/outgoing/targets.js';
import {
  dotted,
  forbiddenIpv4,
  forbiddenIpv6,
  publicIpv4,
  publicIpv6,
  spelledIpv4,
  spelledIpv6,
  tunnelsTo,
} from './addresses.js';
import { message, SECRET } from './receiver.js';

const NETWORK = 'The address leads to a private or reserved network.';

const senderWith = (options: Partial<ConstructorParameters<typeof Sender>[0]> = {}) =>
  new Sender({ allowedNetworks: '', allowsHttpOnLoopback: false, timeout: 60_000, ...options });

const strict = senderWith();

const urlOf = (host: string) => `https://${isIPv6(host) ? `[${host}]` : host}/hook`;

const errorOf = (sender: Sender, url: string) => {
  try {
    sender.checkUrl(url);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(AddressError);
    return (error as Error).message;
  }
};

/** What a name leads to. */
const resolveTo = (...addresses: readonly string[]) => {
  vi.spyOn(Resolver.prototype, 'resolve4').mockImplementation(() =>
    Promise.resolve(addresses.filter((each) => !isIPv6(each))),
  );
  vi.spyOn(Resolver.prototype, 'resolve6').mockImplementation(() =>
    Promise.resolve(addresses.filter((each) => isIPv6(each))),
  );
};

afterEach(() => vi.restoreAllMocks());

describe('the address of a webhook', () => {
  it.each([
    ['hook', 'The address is not an absolute URL.'],
    ['https://', 'The address is not an absolute URL.'],
    ['https://256.1.1.1/', 'The address is not an absolute URL.'],
    ['http://example.com/', 'The address does not begin with https://.'],
    ['http://127.0.0.1/', 'The address does not begin with https://.'],
    ['ftp://example.com/', 'The address does not begin with https://.'],
    ['file:///etc/passwd', 'The address does not begin with https://.'],
    ['https://user@example.com/', 'The address contains a user name or a password.'],
    ['https://:password@example.com/', 'The address contains a user name or a password.'],
  ])('cannot be %s', (url, error) => {
    expect(errorOf(strict, url)).toBe(error);
  });

  it('can have a port, a path and a query', () => {
    strict.checkUrl('https://example.com:8443/hooks?source=tools');
  });

  it('cannot be a forbidden IPv4 address in any spelling', () => {
    fc.assert(
      fc.property(forbiddenIpv4.chain(spelledIpv4), (host) => {
        expect(errorOf(strict, urlOf(host))).toBe(NETWORK);
      }),
      { numRuns: 2_000 },
    );
  });

  it('cannot be a forbidden IPv6 address in any spelling', () => {
    fc.assert(
      fc.property(forbiddenIpv6.chain(spelledIpv6), (host) => {
        expect(errorOf(strict, urlOf(host))).toBe(NETWORK);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['mapped', 'nat64', 'compatible', 'localNat64', 'sixToFour', 'teredo'] as const)(
    'cannot be a forbidden IPv4 address in IPv6 (%s)',
    (form) => {
      const addresses = forbiddenIpv4.chain((address) => spelledIpv6(tunnelsTo(address)[form]));
      fc.assert(
        fc.property(addresses, (host) => {
          expect(errorOf(strict, urlOf(host))).toBe(NETWORK);
        }),
        { numRuns: 500 },
      );
    },
  );

  it('can be any public address', () => {
    const hosts = fc.oneof(
      publicIpv4.chain(spelledIpv4),
      publicIpv6.chain(spelledIpv6),
      publicIpv4.chain((address) => spelledIpv6(tunnelsTo(address).mapped)),
      publicIpv4.chain((address) => spelledIpv6(tunnelsTo(address).nat64)),
    );
    fc.assert(
      fc.property(hosts, (host) => {
        expect(errorOf(strict, urlOf(host))).toBeUndefined();
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['10.0.0.0/8', ['10.0.0.1', '10.255.255.255', '::ffff:10.1.2.3'], ['172.16.0.1', 'fd00::1']],
    [' 10.1.0.0/16 , fd00::/8,', ['10.1.2.3', 'fd12::1'], ['10.2.0.1', 'fc00::1', '::1']],
    ['192.168.7.9/32', ['192.168.7.9'], ['192.168.7.8']],
    ['::/0', ['fe80::1', '::1'], ['10.0.0.1', '127.0.0.1']],
    ['0.0.0.0/0', ['10.0.0.1'], ['::1', 'fd00::1']],
  ])('can be in an allowed network (%s)', (allowedNetworks, allowed, forbidden) => {
    const sender = senderWith({ allowedNetworks });
    const errors = (hosts: readonly string[]) => hosts.map((host) => errorOf(sender, urlOf(host)));
    expect(errors(allowed)).toEqual(allowed.map(() => undefined));
    expect(errors(forbidden)).toEqual(forbidden.map(() => NETWORK));
  });

  it.each(['10.0.0.0', '10.0.0.0/', '10.0.0.0/33', 'fd00::/129', 'example.com/8', '300.0.0.0/8'])(
    'is not checked with a network that is none: %s',
    (allowedNetworks) => {
      const error = `"${allowedNetworks}" is not a network such as 10.0.0.0/8 or fd00::/8`;
      expect(() => senderWith({ allowedNetworks })).toThrow(error);
    },
  );

  describe('in local use', () => {
    const local = senderWith({ allowsHttpOnLoopback: true });

    it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '0x7f.1', '[::1]'])(
      'can be http://%s',
      (host) => {
        expect(errorOf(local, `http://${host}:8080/`)).toBeUndefined();
        expect(errorOf(local, `https://${host}:8080/`)).toBeUndefined();
      },
    );

    it.each(['example.com', '10.0.0.1', '8.8.8.8', '[::2]', 'localhost.example.com', '1'])(
      'cannot be http://%s',
      (host) => {
        expect(errorOf(local, `http://${host}/`)).toBe('The address does not begin with https://.');
      },
    );

    it('cannot be a name that leads to loopback', async () => {
      resolveTo('127.0.0.1', '::1');
      const outcome = local.send(
        'https://receiver.test/',
        message(),
        [SECRET],
        new AbortController().signal,
      );
      expect(await outcome).toEqual({ kind: 'failed', reason: NETWORK });
    });
  });
});

describe('a name', () => {
  const outcomeFor = (...addresses: readonly string[]) => {
    resolveTo(...addresses);
    return strict.send('https://receiver.test/', message(), [SECRET], new AbortController().signal);
  };

  it('leads to no forbidden address, in any spelling', async () => {
    const addresses = fc.oneof(
      forbiddenIpv4.map(dotted),
      forbiddenIpv6.chain(spelledIpv6),
      forbiddenIpv4.chain((address) =>
        fc.constantFrom(...Object.values(tunnelsTo(address))).chain(spelledIpv6),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(addresses, { minLength: 1, maxLength: 3 }), async (all) => {
        expect(await outcomeFor(...all)).toEqual({ kind: 'failed', reason: NETWORK });
      }),
      { numRuns: 300 },
    );
  });

  it('leads to its permitted addresses only', async () => {
    resolveTo('8.8.8.8', '10.0.0.1', '2606:4700::1111', 'fd00::1', '169.254.169.254');
    const targets = new Targets({ allowedNetworks: '', allowsHttpOnLoopback: false });
    const found = new Promise((resolve) => {
      targets.lookup('receiver.test', { all: true }, (error, addresses) =>
        resolve([error, addresses]),
      );
    });
    expect(await found).toEqual([
      null,
      [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
    ]);
  });

  it('leads to no link-local address with a zone', async () => {
    expect(await outcomeFor('fe80::1%eth0')).toEqual({ kind: 'failed', reason: NETWORK });
  });

  it.each([
    ['there is none', () => Promise.resolve([])],
    ['no server answers', () => Promise.reject(new Error('queryA ETIMEOUT 10.0.0.2'))],
  ])('leads nowhere if %s', async (_, resolve) => {
    vi.spyOn(Resolver.prototype, 'resolve4').mockImplementation(resolve);
    vi.spyOn(Resolver.prototype, 'resolve6').mockImplementation(resolve);
    const { signal } = new AbortController();
    const outcome = await strict.send('https://receiver.test/', message(), [SECRET], signal);
    expect(outcome).toEqual({ kind: 'failed', reason: 'The host name cannot be resolved.' });
  });

  it('that leads to this machine by its nature is refused like others', async () => {
    const { signal } = new AbortController();
    expect(await strict.send('https://localhost/', message(), [SECRET], signal)).toEqual({
      kind: 'failed',
      reason: NETWORK,
    });
  });
});

it('an address that was allowed once is checked again when a message is sent', async () => {
  const { signal } = new AbortController();
  expect(await strict.send('https://10.0.0.1/', message(), [SECRET], signal)).toEqual({
    kind: 'failed',
    reason: NETWORK,
  });
});
