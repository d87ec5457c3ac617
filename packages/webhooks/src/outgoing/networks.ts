import { BlockList, isIPv6 } from 'node:net';

/** An address that messages may not be sent to. Its message is a sentence for the user who chose the address. */
export class AddressError extends Error {}

const FORBIDDEN = 'The address leads to a private or reserved network.';

/** https://www.iana.org/assignments/iana-ipv4-special-registry, multicast, and what a cloud has for its own machines. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Link-local, with the metadata of most clouds.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Azure's services for its machines, among public addresses.
  '168.63.129.16/32',
];

/** All that is global unicast; loopback, unique local, link-local and IPv4-compatible addresses are outside. */
const GLOBAL_IPV6 = ['2000::/3'];

/** https://www.iana.org/assignments/iana-ipv6-special-registry, and what tunnels to an IPv4 address. */
const SPECIAL_IPV6 = [
  // With Teredo.
  '2001::/23',
  '2001:db8::/32',
  // 6to4
  '2002::/16',
  '3fff::/20',
];

/** The last 32 bits are the IPv4 address to which a packet goes: IPv4-mapped, and NAT64 (RFC 6052). */
const TRANSLATED = ['::ffff:0:0/96', '64:ff9b::/96'];

class NetworkSet {
  // One list would take an IPv4 address for one of the network `::/0`.
  private readonly lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [, address = '', prefix = ''] = /^(.+)\/(\d{1,3})$/.exec(network) ?? [];
      const family = familyOf(address);
      try {
        this.lists[family].addSubnet(address, Number(prefix), family);
      } catch {
        throw new Error(`"${network}" is not a network such as 10.0.0.0/8 or fd00::/8`);
      }
    }
  }

  has(address: string): boolean {
    const family = familyOf(address);
    return this.lists[family].check(address, family);
  }
}

const SPECIAL = new NetworkSet([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
const GLOBAL = new NetworkSet(['0.0.0.0/0', ...GLOBAL_IPV6]);
const TRANSLATING = new NetworkSet(TRANSLATED);
const LOOPBACK = new NetworkSet(['127.0.0.0/8', '::1/128']);

/** What messages may be sent to: public addresses, and networks that the operator allows. */
export class Networks {
  private readonly allowed: NetworkSet;

  /** @param allowed networks in CIDR notation, separated by commas */
  constructor(allowed: string) {
    const networks = allowed.split(',').map((network) => network.trim());
    this.allowed = new NetworkSet(networks.filter((network) => network !== ''));
  }

  /** @throws AddressError for an IP address that is neither public nor in an allowed network */
  check(address: string): void {
    if (!this.permits(address)) throw new AddressError(FORBIDDEN);
  }

  permits(address: string): boolean {
    // An address of a file of hosts may have a zone.
    const [plain = ''] = address.split('%');
    const target = TRANSLATING.has(plain) ? lastIpv4(plain) : plain;
    if (this.allowed.has(plain) || this.allowed.has(target)) return true;
    return GLOBAL.has(target) && !SPECIAL.has(target);
  }
}

export function isLoopback(address: string): boolean {
  return LOOPBACK.has(address);
}

function familyOf(address: string) {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** The last 32 bits of an IPv6 address. */
function lastIpv4(address: string): string {
  // URLs write each group of 16 bits in hexadecimal digits, or leave zeros out.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2);
  const [high = 0, low = 0] = groups.map((group) => Number(`0x0${group}`));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
