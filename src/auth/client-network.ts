import { isIP } from 'node:net';

/**
 * The network that stands for a client: its IPv4 address, or the first 64 bits of its IPv6 address, because a client has
 * all addresses of such a network (RFC 4291, section 2.5.4). Anything else, which only a proxy could have sent, is one
 * client.
 */
export function clientNetwork(address = ''): string {
  const version = isIP(address);
  if (version === 4) return address;
  if (version === 0) return 'unknown';
  const groups = groupsOf(address);
  // An IPv4 client of a socket for both versions (RFC 4291, section 2.5.5.2).
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') return ipv4Of(groups.slice(6));
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros. A URL has its shortest form, which has no zone. */
function groupsOf(address: string): string[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*/, '')}]`);
  const [first = [], last = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last];
}

function ipv4Of(groups: readonly string[]): string {
  return groups
    .map((group) => parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
}
