import type { Request } from 'express';

/** The address of the client. A socket for both IP versions has IPv4 addresses in the form `::ffff:192.0.2.1`. */
export function clientAddress({ ip }: Request): string | undefined {
  return ip?.replace(/^::ffff:(?=\d+\.)/i, '');
}
