import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { AddressError, isLoopback, Networks } from './networks.js';

/** RFC 6761 lets no server answer for this name. */
const LOCALHOST = { name: 'localhost', addresses: ['127.0.0.1', '::1'] };

/** In milliseconds, for each of two tries. */
const DNS_TIMEOUT = 2_000;

export interface TargetOptions {
  /** Networks in CIDR notation, separated by commas, that messages may be sent to although they are not public. */
  readonly allowedNetworks: string;
  /** Lets messages go to this machine, with or without TLS, when the URL says so itself. */
  readonly allowsHttpOnLoopback: boolean;
}

export class Targets {
  private readonly networks: Networks;

  // `dns.lookup` has no timeout, and shares few threads with the look-ups of all other modules.
  private readonly resolver = new Resolver({ timeout: DNS_TIMEOUT, tries: 2 });

  constructor(private readonly options: TargetOptions) {
    this.networks = new Networks(options.allowedNetworks);
  }

  /** @throws AddressError */
  parse(text: string): URL {
    if (!URL.canParse(text)) throw new AddressError('The address is not an absolute URL.');
    const url = new URL(text);
    // An IPv6 address stands in brackets.
    const host = url.hostname.replaceAll(/[[\]]/g, '');
    const isIpAddress = isIP(host) !== 0;
    const isLoopbackHost = isIpAddress ? isLoopback(host) : host === LOCALHOST.name;
    const isLocal = this.options.allowsHttpOnLoopback && isLoopbackHost;
    if (url.protocol !== 'https:' && !(isLocal && url.protocol === 'http:')) {
      throw new AddressError('The address does not begin with https://.');
    }
    if (url.username !== '' || url.password !== '') {
      throw new AddressError('The address contains a user name or a password.');
    }
    if (isIpAddress && !isLocal) this.networks.check(host);
    return url;
  }

  /** A connection is made to what this function returns, and to nothing else: a name cannot lead elsewhere after the check. */
  readonly lookup: LookupFunction = (hostname, _, callback) => {
    callbackify(() => this.resolve(hostname))(callback);
  };

  close(): void {
    this.resolver.cancel();
  }

  private async resolve(hostname: string) {
    const addresses = await this.addressesOf(hostname);
    const isLocal = this.options.allowsHttpOnLoopback && hostname === LOCALHOST.name;
    const permitted = isLocal ? addresses : addresses.filter((it) => this.networks.permits(it));
    if (permitted.length === 0) this.networks.check(addresses[0]!);
    return permitted.map((address) => ({ address, family: isIP(address) }));
  }

  private async addressesOf(hostname: string): Promise<readonly string[]> {
    if (hostname === LOCALHOST.name) return LOCALHOST.addresses;
    const found = await Promise.allSettled([
      this.resolver.resolve4(hostname),
      this.resolver.resolve6(hostname),
    ]);
    const addresses = found.flatMap((it) => (it.status === 'fulfilled' ? it.value : []));
    if (addresses.length === 0) throw new AddressError('The host name cannot be resolved.');
    return addresses;
  }
}
