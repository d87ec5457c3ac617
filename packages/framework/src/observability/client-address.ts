import { isIP, SocketAddress } from 'node:net';
import type { Request } from 'express';

/** A node of RFC 7239, section 6, with or without a port: an IPv6 address in brackets, or anything without colons. */
const NODE = /^(?:\[([^\]]+)\]|([^:]+))(?::(?:\d{1,5}|_[\w.-]+))?$/;

/** An identifier that hides an address (RFC 7239, section 6.3). */
const OBFUSCATED = /^_[\w.-]{1,64}$/;

/** The address of the client, also behind trusted proxies. `undefined` after the connection has closed. */
export function clientAddress(request: Request): string | undefined {
  // For `ip`, Express makes lists of all proxies.
  const isForwarded = request.headers['x-forwarded-for'] !== undefined;
  const ip = isForwarded ? request.ip : request.socket.remoteAddress;
  return ip === undefined ? undefined : addressIn(ip);
}

/**
 * The canonical address in an entry of `X-Forwarded-For`. No standard defines entries: some proxies add a port, brackets or
 * quotes, as in the field `Forwarded`.
 */
export function addressIn(entry: string | undefined = ''): string {
  if (isIP(entry) === 4) return entry;
  const text = entry.trim().replace(/^"(.*)"$/, '$1');
  if (isIP(text) === 6) return canonical(text);
  const [, inBrackets = '', plain = ''] = NODE.exec(text) ?? [];
  if (isIP(inBrackets) === 6) return canonical(inBrackets);
  return isIP(plain) === 4 || OBFUSCATED.test(plain) ? plain : 'unknown';
}

/** Without the zone, which has a meaning on one machine only. */
function canonical(ipv6: string): string {
  const { address } = new SocketAddress({ address: ipv6.replace(/%.*/, ''), family: 'ipv6' });
  // An IPv4 client of a socket for both versions (RFC 4291, section 2.5.5.2).
  const [, ipv4] = /^::ffff:([\d.]+)$/.exec(address) ?? [];
  return ipv4 ?? address;
}
