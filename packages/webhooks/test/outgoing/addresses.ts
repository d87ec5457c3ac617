import fc from 'fast-check';

/* Arithmetic of its own, so that a mistake of the implementation does not hide in the tests. */

/** Networks of the registries of IANA that are not reachable from everywhere, multicast, and Azure's host. */
const FORBIDDEN_IPV4: readonly (readonly [first: string, last: string])[] = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
];

const FORBIDDEN_IPV6: readonly (readonly [first: string, last: string])[] = [
  ['0:0:0:0:0:0:0:0', '0:0:0:0:0:fffe:ffff:ffff'],
  // Local NAT64, discard only, segment routing, unique local, link-local, site-local, multicast.
  ['64:ff9b:1:0:0:0:0:0', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100:0:0:0:0:0:0:0', '100:0:0:0:ffff:ffff:ffff:ffff'],
  ['5f00:0:0:0:0:0:0:0', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fc00:0:0:0:0:0:0:0', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fe80:0:0:0:0:0:0:0', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fec0:0:0:0:0:0:0:0', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ff00:0:0:0:0:0:0:0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  // Teredo, other protocols, documentation, 6to4, documentation.
  ['2001:0:0:0:0:0:0:0', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:1:0:0:0:0:0:0', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8:0:0:0:0:0:0', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002:0:0:0:0:0:0:0', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff:0:0:0:0:0:0:0', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

/** Often the first or the last. */
function within(first: bigint, last: bigint): fc.Arbitrary<bigint> {
  return fc.oneof(fc.constantFrom(first, last), fc.bigInt({ min: first, max: last }));
}

/** The value of an address with all its groups. */
function number(address: string): bigint {
  const isIpv6 = address.includes(':');
  return address
    .split(isIpv6 ? ':' : '.')
    .map((part) => BigInt(Number.parseInt(part, isIpv6 ? 16 : 10)))
    .reduce((sum, part) => (sum << (isIpv6 ? 16n : 8n)) + part, 0n);
}

export const forbiddenIpv4 = fc
  .constantFrom(...FORBIDDEN_IPV4)
  .chain(([first, last]) => within(number(first), number(last)));

export const forbiddenIpv6 = fc
  .constantFrom(...FORBIDDEN_IPV6)
  .chain(([first, last]) => within(number(first), number(last)));

const isIn = (networks: typeof FORBIDDEN_IPV4) => (address: bigint) =>
  networks.some(([first, last]) => number(first) <= address && address <= number(last));

export const publicIpv4 = within(0n, (1n << 32n) - 1n).filter((it) => !isIn(FORBIDDEN_IPV4)(it));

/** 2000::/3 is all that IANA gives away. */
export const publicIpv6 = within(1n << 125n, (1n << 126n) - 1n).filter(
  (it) => !isIn(FORBIDDEN_IPV6)(it),
);

function partsOf(address: bigint, count: number, bits: bigint): bigint[] {
  return Array.from(
    { length: count },
    (_, n) => (address >> (bits * BigInt(count - 1 - n))) & ((1n << bits) - 1n),
  );
}

export function dotted(address: bigint): string {
  return partsOf(address, 4, 8n).join('.');
}

/** Each number in a radix, and with as many numbers as browsers take. */
export const spelledIpv4 = (address: bigint) =>
  fc
    .tuple(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('', '0', '00', '0x', '0X', '0x00'), { minLength: 4, maxLength: 4 }),
      fc.constantFrom('', '.'),
      fc.constantFrom(...WRITINGS),
    )
    .map(([count, radices, end, write]) => {
      const lastBits = BigInt(8 * (5 - count));
      const leading = partsOf(address >> lastBits, count - 1, 8n);
      const numbers = [...leading, address & ((1n << lastBits) - 1n)];
      const words = numbers.map((it, n) => {
        const radix = radices[n]!;
        if (radix === '') return String(it);
        return radix + it.toString(/x/i.test(radix) ? 16 : 8);
      });
      return write(words.join('.') + end);
    });

const WRITINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => text.replaceAll(/[^]/g, (it) => `%${it.charCodeAt(0).toString(16).padStart(2, '0')}`),
  // Full-width digits and an ideographic full stop.
  (text) =>
    text
      .replaceAll(/\d/g, (it) => String.fromCharCode(it.charCodeAt(0) + 0xfee0))
      .replaceAll('.', '\u3002'),
];

/** With and without leading zeros, capitals, `::` for any zeros, and numbers with dots at the end. */
export const spelledIpv6 = (address: bigint) =>
  fc
    .tuple(fc.boolean(), fc.boolean(), fc.boolean(), fc.nat({ max: 7 }), fc.nat({ max: 7 }))
    .map(([isPadded, isUpper, hasDots, from, length]) => {
      const groups = partsOf(address, 8, 16n).map((it) =>
        it.toString(16).padStart(isPadded ? 4 : 1, '0'),
      );
      const words = hasDots ? [...groups.slice(0, 6), dotted(address & 0xffff_ffffn)] : groups;
      const left = words.slice(from, from + length + 1);
      const canShorten = left.length > 0 && left.every((it) => Number(`0x${it}`) === 0);
      const text = canShorten
        ? `${words.slice(0, from).join(':')}::${words.slice(from + length + 1).join(':')}`
        : words.join(':');
      return isUpper ? text.toUpperCase() : text;
    });

/** The IPv6 addresses that lead to an IPv4 address. */
export const tunnelsTo = (address: bigint) => ({
  mapped: (0xffffn << 32n) | address,
  nat64: number('64:ff9b:0:0:0:0:0:0') | address,
  compatible: address,
  localNat64: number('64:ff9b:1:0:0:0:0:0') | address,
  sixToFour: (0x2002n << 112n) | (address << 80n) | 1n,
  teredo: (0x2001n << 112n) | (address ^ 0xffff_ffffn),
});
